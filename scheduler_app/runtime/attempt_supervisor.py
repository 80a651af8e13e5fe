"""The warm parent of all attempts of one worker: starts them, reads their output, kills them in time.

One thread, no database connection, so neither a hanging database nor a frozen worker ever blocks a child.
It promises: an attempt is killed at its timeout, at the end of its lease and when the worker's own time runs
out; its result is reported when its whole process tree is gone (or after two seconds of trying); when the
worker goes away, everything is killed and this process ends.

Trees: each child is a subreaper, so its orphans stay below it while it lives. When it is gone they become
children of this process; a child that is not the main process of an attempt therefore belongs to an ended
one and is killed, again and again until none is left, whatever session or group it moved to.
"""

from __future__ import annotations

import argparse
import gc
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import cast

import django
from django.db import connections

from scheduler_app.errors import SchedulerError
from scheduler_app.runtime.attempt_channel import Channel, Message
from scheduler_app.runtime.attempt_child import drop_site_environment
from scheduler_app.runtime.attempt_launch import FORK, SPAWN, Launcher, launcher_named
from scheduler_app.runtime.attempt_spec import AttemptResult, AttemptSpec, Outcome
from scheduler_app.runtime.attempt_watch import TREE_SECONDS, RunningAttempt, never_started, refused
from scheduler_app.runtime.process_tree import become_subreaper, children_of, kill_abandoned, kill_all
from scheduler_app.tasks.registry import get_task, load_tasks, unknown_task_message

_SWEEP_PAUSE_SECONDS = 0.02
_STARTS_PER_TURN = 2
_IDLE_SECONDS = 60.0
_STRAGGLER_SECONDS = 1.0


class AttemptSupervisor:
    """The loop. `run()` returns when the worker is gone and nothing is left to kill."""

    def __init__(self, channel: Channel, launcher: Launcher) -> None:
        self._channel = channel
        self._launch = launcher
        self._asked: dict[str, AttemptSpec] = {}
        self._attempts: dict[str, RunningAttempt] = {}
        self._by_pid: dict[int, RunningAttempt] = {}
        self._ended: list[RunningAttempt] = []
        self._alive_until = float("inf")
        self._stragglers = False
        self._worker_lost_at: float | None = None
        self._selector = selectors.DefaultSelector()
        self._verbs: dict[str, Callable[[Message], None]] = {
            "start": self._on_start,
            "refuse": self._on_refuse,
            "terminate": self._on_terminate,
            "terminate_all": self._on_terminate_all,
            "extend_alive": self._on_extend_alive,
        }
        self._selector.register(channel.fileno(), selectors.EVENT_READ, self._on_channel)
        self._watch_for_ended_children()

    def run(self) -> None:
        """Serve until the worker is gone, then kill what is left."""
        while not self._done():
            self._watch_channel()
            for ready, _ in self._selector.select(self._seconds_to_wait(time.monotonic())):
                handler = cast(Callable[[], None], ready.data)
                handler()
            self._start_some()
            self._kill_overdue(time.monotonic())
            self._reap()
            self._settle(time.monotonic())

    def _done(self) -> bool:
        if self._worker_lost_at is None:
            return False
        nothing_left = not self._attempts and not self._orphans()
        return nothing_left or time.monotonic() > self._worker_lost_at + 2 * TREE_SECONDS

    def _watch_for_ended_children(self) -> None:
        """SIGCHLD wakes the selector; the handler itself has nothing to do."""
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._wakeup = (reader, writer)
        self._selector.register(reader, selectors.EVENT_READ, self._on_wakeup)

    def _on_wakeup(self) -> None:
        try:
            self._wakeup[0].recv(4096)
        except BlockingIOError:
            return

    def _seconds_to_wait(self, now: float) -> float:
        if self._asked:
            return 0.0
        if self._ended or self._worker_lost_at is not None:
            return _SWEEP_PAUSE_SECONDS
        bounds = [attempt.next_look_at for attempt in self._attempts.values()]
        if any(attempt.kill_reason is None for attempt in self._attempts.values()):
            bounds.append(self._alive_until)
        bounds.append(now + (_STRAGGLER_SECONDS if self._stragglers else _IDLE_SECONDS))
        return max(min(bounds) - now, 0.0)

    # --- the worker's messages

    def _watch_channel(self) -> None:
        if self._worker_lost_at is not None:
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._channel.wants_to_write else 0)
        if self._selector.get_key(self._channel.fileno()).events != wanted:
            self._selector.modify(self._channel.fileno(), wanted, self._on_channel)

    def _on_channel(self) -> None:
        self._channel.flush()
        for message in self._channel.receive():
            self._verbs[str(message["verb"])](message)
        if self._channel.closed and self._worker_lost_at is None:
            self._worker_lost_at = time.monotonic()
            self._selector.unregister(self._channel.fileno())
            self._asked.clear()
            self._kill_attempts("expired")

    def _on_start(self, message: Message) -> None:
        spec = AttemptSpec.from_json(cast(Message, message["spec"]))
        self._asked[spec.key] = spec

    def _start_some(self) -> None:
        """A few forks per turn: a burst of starts must not keep running attempts from being read."""
        for key in list(islice(self._asked, _STARTS_PER_TURN)):
            self._start_or_tell_why_not(self._asked.pop(key), time.monotonic())

    def _start_or_tell_why_not(self, spec: AttemptSpec, now: float) -> None:
        if now >= min(self._alive_until, spec.deadline_monotonic):
            self._report(never_started(spec, "expired", now))
        elif get_task(spec.task) is None:
            self._report(refused(spec.key, unknown_task_message(spec.task), now))
        else:
            self._start(spec, now)

    def _start(self, spec: AttemptSpec, now: float) -> None:
        try:
            launched = self._launch(spec)
        except (OSError, subprocess.SubprocessError) as error:
            self._report(refused(spec.key, f"no process could be started for the task: {error}", now))
            return
        attempt = RunningAttempt(spec, launched)
        self._attempts[spec.key] = attempt
        self._by_pid[launched.pid] = attempt
        for descriptor in attempt.open_pipes:
            read = partial(self._on_output, attempt, descriptor)
            self._selector.register(descriptor, selectors.EVENT_READ, read)
        self._channel.send(
            {"verb": "started", "key": spec.key, "pid": launched.pid, "at": launched.started_monotonic}
        )

    def _on_refuse(self, message: Message) -> None:
        self._report(refused(str(message["key"]), str(message["reason"]), time.monotonic()))

    def _on_terminate(self, message: Message) -> None:
        key, now = str(message["key"]), time.monotonic()
        if key in self._attempts:
            self._attempts[key].kill("terminated", now)
        elif key in self._asked:
            self._report(never_started(self._asked.pop(key), "terminated", now))

    def _on_terminate_all(self, message: Message) -> None:
        for key in list(self._asked):
            self._report(never_started(self._asked.pop(key), "terminated", time.monotonic()))
        self._kill_attempts("terminated")

    def _on_extend_alive(self, message: Message) -> None:
        self._alive_until = float(cast(float, message["until"]))

    # --- the attempts

    def _on_output(self, attempt: RunningAttempt, descriptor: int) -> None:
        if not attempt.read(descriptor):
            self._close_pipe(attempt, descriptor)

    def _close_pipe(self, attempt: RunningAttempt, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        attempt.close_pipe(descriptor)

    def _kill_overdue(self, now: float) -> None:
        if now >= self._alive_until:
            self._kill_attempts("expired")
        for attempt in self._attempts.values():
            attempt.kill_if_overdue(now)

    def _kill_attempts(self, reason: Outcome) -> None:
        now = time.monotonic()
        for attempt in self._attempts.values():
            attempt.kill(reason, now)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            attempt = self._by_pid.pop(pid, None)
            if attempt is not None and attempt.end is None:
                attempt.exited(status, usage, time.monotonic())
                self._ended.append(attempt)

    def _settle(self, now: float) -> None:
        """Report ended attempts whose trees are gone; sweep until they are."""
        for attempt in list(self._attempts.values()):
            if attempt.give_up_if_unkillable(now):
                self._finish(attempt)
        if not self._ended and not self._stragglers and self._worker_lost_at is None:
            return
        orphans = self._orphans()
        kill_all(orphans)
        self._stragglers = bool(orphans)
        waiting: list[RunningAttempt] = []
        for attempt in self._ended:
            assert attempt.end is not None
            if orphans and now < attempt.end.ended_monotonic + TREE_SECONDS:
                waiting.append(attempt)
                continue
            attempt.tree_left = bool(orphans)
            self._finish(attempt)
        self._ended = waiting

    def _orphans(self) -> list[int]:
        return [pid for pid in children_of(os.getpid()) if pid not in self._by_pid]

    def _finish(self, attempt: RunningAttempt) -> None:
        attempt.drain()
        for descriptor in list(attempt.open_pipes):
            self._close_pipe(attempt, descriptor)
        del self._attempts[attempt.spec.key]
        self._report(attempt.result())

    def _report(self, result: AttemptResult) -> None:
        if self._worker_lost_at is not None:
            return
        try:
            self._channel.send({"verb": "ended", "result": result.to_json()})
        except (TypeError, ValueError, RecursionError):
            self._channel.send({"verb": "ended", "result": replace(result, result=None).to_json()})


def prepare() -> dict[str, str]:
    """Load once what every attempt needs, so that forks share it; return the environment of the site.

    Afterwards the environment holds what a task may see. Raises SchedulerError for a site's fault.
    """
    with _without_pretty_tracebacks():
        django.setup()
    load_tasks()
    connections.close_all()
    site_environment = drop_site_environment()
    gc.collect()
    gc.freeze()
    return site_environment


@contextmanager
def _without_pretty_tracebacks() -> Iterator[None]:
    """Keep the log library from loading rich, which only people at a terminal need: 3 MiB less to fork."""
    absent = "rich" not in sys.modules
    if absent:
        sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if absent:
            del sys.modules["rich"]


def main(arguments: Sequence[str]) -> int:
    """Serve the worker at the other end of the given socket."""
    parser = argparse.ArgumentParser(
        prog="attempt_supervisor", description="Runs the attempts of one worker."
    )
    parser.add_argument("--socket-fd", type=int, required=True)
    parser.add_argument("--launcher", choices=(FORK, SPAWN), required=True)
    options = parser.parse_args(arguments)
    # The worker decides when to stop; a signal to the whole group must not take its tasks away first.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    become_subreaper()
    channel = Channel(socket.socket(fileno=options.socket_fd))
    try:
        site_environment = prepare()
    except SchedulerError as error:
        channel.send({"verb": "unusable", "reason": error.message})
        return 1
    kill_abandoned()
    channel.send({"verb": "ready", "pid": os.getpid()})
    AttemptSupervisor(channel, launcher_named(options.launcher, site_environment)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
