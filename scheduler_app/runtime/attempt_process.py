"""The worker's handle on its attempt supervisor: start, poll, terminate, and what happens when it dies.

No call blocks on the supervisor, and none raises for a bad attempt: whatever was started comes back from
`poll()` exactly once. When the supervisor is lost, or stands still past a deadline it should have enforced,
all its attempts come back as `expired`, their processes are killed first, and the next `start()` launches a
new supervisor.
"""

from __future__ import annotations

import itertools
import os
import selectors
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from django.conf import settings

from scheduler_app.conf import conf
from scheduler_app.errors import SchedulerError
from scheduler_app.runtime.attempt_channel import Channel, Message
from scheduler_app.runtime.attempt_launch import check_launcher, default_launcher_name
from scheduler_app.runtime.attempt_spec import AttemptResult, AttemptSpec
from scheduler_app.runtime.process_tree import MARK_VARIABLE, ON_LINUX, kill_group, kill_marked, new_mark

SUPERVISOR_MODULE = "scheduler_app.runtime.attempt_supervisor"
READY_SECONDS = 60.0
# A supervisor that has not reported an attempt this long after its deadline stands still.
OVERDUE_SECONDS = 10.0
_END_SECONDS = 5.0

_DIED = "the supervisor of this worker's attempts died"
_STOOD_STILL = "the supervisor of this worker's attempts stood still and was killed"

_serials = itertools.count(1)


@dataclass(slots=True)
class _Pending:
    """An attempt handed to the supervisor; pid and start are known once it has one."""

    spec: AttemptSpec
    pid: int | None = None
    started_monotonic: float | None = None

    def is_overdue(self, now: float) -> bool:
        """One that has not started yet may stand in a long line, so only the end of its lease counts."""
        bound = self.spec.deadline_monotonic
        if self.started_monotonic is not None:
            bound = self.spec.deadline(self.started_monotonic)
        return now >= bound + OVERDUE_SECONDS


class AttemptPool:
    """Attempts of one worker. Not thread-safe: one thread owns it.

    `launcher` is `fork` or `spawn`, by default the one for this platform. The constructor waits until the
    supervisor is ready and raises SchedulerError when it cannot start (a site's task module that fails, for
    example). Until the first `extend_alive()` attempts are bounded by their own deadlines only.
    """

    def __init__(self, *, launcher: str | None = None) -> None:
        self._launcher = launcher or conf().launcher or default_launcher_name()
        check_launcher(self._launcher)
        self._pending: dict[str, _Pending] = {}
        self._results: list[AttemptResult] = []
        self._alive_until: float | None = None
        self._unusable = ""
        self._ready = False
        self._selector = selectors.DefaultSelector()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._mark = ""
        self._launch()
        self._await_ready(READY_SECONDS)

    def fileno(self) -> int:
        """Readable when poll() has something to do; the same number for the life of the pool."""
        # Epoll and kqueue objects are descriptors themselves, so the number outlives a supervisor.
        return cast(selectors.EpollSelector, self._selector).fileno()

    def start(self, spec: AttemptSpec) -> None:
        """Hand over an attempt; its end arrives by poll(), also when it could not start.

        A key that is still running raises ValueError: two results of one key could not be told apart.
        """
        if spec.key in self._pending:
            raise ValueError(f"attempt {spec.key} is still running")
        if not self.alive():
            self._pump()
            self._bury(_DIED)
        if self._channel is None:
            self._launch()
        self._pending[spec.key] = _Pending(spec)
        try:
            self._send({"verb": "start", "spec": spec.to_json()})
        except (TypeError, ValueError, RecursionError) as error:
            reason = f"the attempt cannot be handed to a process: {error}"
            self._send({"verb": "refuse", "key": spec.key, "reason": reason})

    def poll(self) -> list[AttemptResult]:
        """Results that have arrived. Call it when fileno() is readable, and at least every few seconds."""
        self._pump()
        now = time.monotonic()
        if any(pending.is_overdue(now) for pending in self._pending.values()):
            self._bury(_STOOD_STILL, patience_seconds=0)
        results, self._results = self._results, []
        return results

    def terminate(self, key: str) -> None:
        """Kill the tree of an attempt; its result arrives as `terminated`. Unknown keys are ignored."""
        if key in self._pending:
            self._send({"verb": "terminate", "key": key})

    def extend_alive(self, until_monotonic: float) -> None:
        """The supervisor kills everything when time.monotonic() passes this, and starts nothing more."""
        self._alive_until = until_monotonic
        self._send({"verb": "extend_alive", "until": until_monotonic})

    def running(self) -> int:
        """Attempts started whose result poll() has not returned."""
        return len(self._pending) + len(self._results)

    def alive(self) -> bool:
        """Whether the supervisor process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def supervisor_pid(self) -> int | None:
        """Process id of the supervisor, for logs and health; None while there is none."""
        return None if self._process is None else self._process.pid

    def close(self, *, grace_seconds: float) -> list[AttemptResult]:
        """Kill all attempts, wait up to the grace for their results, end the supervisor.

        Whoever wants running tasks to finish first waits for that before; the pool is unusable afterwards.
        """
        self._send({"verb": "terminate_all"})
        results = self.poll()
        deadline = time.monotonic() + grace_seconds
        while self._pending and self._channel is not None and time.monotonic() < deadline:
            self._selector.select(max(deadline - time.monotonic(), 0))
            results += self.poll()
        self._bury("its worker stopped")
        results += self.poll()
        self._selector.close()
        return results

    # --- the supervisor process

    def _launch(self) -> None:
        ours, theirs = socket.socketpair()
        self._mark = new_mark(next(_serials))
        try:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", SUPERVISOR_MODULE),
                    *("--socket-fd", str(theirs.fileno()), "--launcher", self._launcher),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=self._environment(),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._ready = False
        self._channel = Channel(ours)
        self._selector.register(self._channel.fileno(), selectors.EVENT_READ)
        if self._alive_until is not None:
            self.extend_alive(self._alive_until)

    def _environment(self) -> dict[str, str]:
        """The supervisor imports what this process could import, and settings from the same module."""
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),
            "DJANGO_SETTINGS_MODULE": str(settings.SETTINGS_MODULE),
            MARK_VARIABLE: self._mark,
        }

    def _await_ready(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._ready:
            left = deadline - time.monotonic()
            if self._channel is None or left <= 0:
                reason = self._unusable or "it ended, or said nothing for a minute; its own words are above"
                self._bury("it did not start")
                raise SchedulerError(f"The process that runs tasks could not start: {reason}")
            self._selector.select(left)
            self._pump()

    def _send(self, message: Message) -> None:
        if self._channel is not None:
            self._channel.send(message)
            self._watch_for_room()

    def _watch_for_room(self) -> None:
        if self._channel is None:
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._channel.wants_to_write else 0)
        if self._selector.get_key(self._channel.fileno()).events != wanted:
            self._selector.modify(self._channel.fileno(), wanted)

    def _pump(self) -> None:
        channel = self._channel
        if channel is None:
            return
        for message in channel.receive():
            self._take(message)
        channel.flush()
        if channel.closed:
            self._bury(self._unusable or _DIED)
        else:
            self._watch_for_room()

    def _take(self, message: Message) -> None:
        verb = message["verb"]
        if verb == "ended":
            result = AttemptResult.from_json(cast(Message, message["result"]))
            if self._pending.pop(result.key, None) is not None:
                self._results.append(result)
        elif verb == "started":
            pending = self._pending.get(str(message["key"]))
            if pending is not None:
                pending.pid = cast(int, message["pid"])
                pending.started_monotonic = cast(float, message["at"])
        elif verb == "ready":
            self._ready = True
        elif verb == "unusable":
            self._unusable = str(message["reason"])

    def _bury(self, reason: str, *, patience_seconds: float = _END_SECONDS) -> None:
        """End the supervisor and everything it started; what it had not reported comes back as expired."""
        if self._channel is not None:
            self._selector.unregister(self._channel.fileno())
            self._channel.close()
            self._channel = None
        if self._process is not None:
            _wait_or_kill(self._process, patience_seconds)
            self._process = None
            self._sweep()
        ended = time.monotonic()
        self._results += [_lost(pending, reason, ended) for pending in self._pending.values()]
        self._pending.clear()

    def _sweep(self) -> None:
        """The last look: processes of attempts that outlived their supervisor."""
        if ON_LINUX:
            kill_marked(self._mark)
            return
        for pending in self._pending.values():
            if pending.pid is not None:
                kill_group(pending.pid)


def _wait_or_kill(process: subprocess.Popen[bytes], seconds: float) -> None:
    """The supervisor ends by itself when its channel is closed; one that does not is killed."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)


def _lost(pending: _Pending, reason: str, ended: float) -> AttemptResult:
    return AttemptResult(
        key=pending.spec.key,
        outcome="expired",
        error=f"lost: {reason}; how far the task came is not known.",
        started_monotonic=pending.started_monotonic,
        ended_monotonic=ended,
    )
