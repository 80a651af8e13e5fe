"""Several processes as one: web, scheduler and worker of a try-out under one supervised group.

Each member runs in a session of its own, so that the terminal's Ctrl-C reaches only this process, which
then ends them in order. The end of any member ends all: half a scheduler is worse than none.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler_app.runtime.process_tree import die_with_parent
from scheduler_app.runtime.signals import StopRequest

END_SECONDS = 8.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Member:
    """One process of the group: its name in messages, and its command line."""

    name: str
    command: tuple[str, ...]


class ProcessGroup:
    """Starts members, waits for a stop or the first end, and leaves nothing behind."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, *, ready: Callable[[], bool], when_ready: Callable[[], None]) -> str:
        """Run until a stop signal or until a member ends; returns the name of that member, else "".

        `when_ready` is called once, as soon as `ready` says so.
        """
        with StopRequest() as stop:
            try:
                self._start()
                return self._watch(stop, ready, when_ready)
            finally:
                self._end(stop)

    def _start(self) -> None:
        parent = os.getpid()
        for member in self._members:
            self._processes[member.name] = subprocess.Popen(
                member.command,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=lambda: _die_with(parent),
            )

    def _watch(self, stop: StopRequest, ready: Callable[[], bool], when_ready: Callable[[], None]) -> str:
        announced = False
        while not stop.requested:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    return name
            if not announced and ready():
                announced = True
                when_ready()
            stop.wait(LOOK_SECONDS)
        return ""

    def _end(self, stop: StopRequest) -> None:
        """SIGTERM to all, time for running work to be handed back, then SIGKILL to what is left."""
        for process in self._processes.values():
            _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + END_SECONDS
        hurried = False
        while any(process.poll() is None for process in self._processes.values()):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if not hurried and (left < END_SECONDS / 2 or stop.urgent):
                hurried = True
                for process in self._processes.values():
                    _signal_group(process, signal.SIGTERM)
            stop.wait(min(left, LOOK_SECONDS))
        for process in self._processes.values():
            _signal_group(process, signal.SIGKILL)
            process.wait()


def _die_with(parent: int) -> None:
    die_with_parent(parent)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number) if number == signal.SIGTERM else os.killpg(process.pid, number)


def manage_command(*words: str) -> tuple[str, ...]:
    """The command line of a management command under this interpreter and these settings."""
    return (sys.executable, "-m", "django", *words)
