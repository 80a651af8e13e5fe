"""The worker process: claims due rows, has each attempt run in a process of its own, writes how it ended.

One thread does rounds: take results from the attempt supervisor, stay alive, complete and claim in one
transaction, start what was claimed after the commit. A worker claims only while its own sign of life holds;
one whose sign lapsed drops all its work and begins again under a new incarnation. On SIGTERM it stops
claiming, gives running work DRAIN_SECONDS, hands the rest back, and exits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from django.db import DataError, IntegrityError
from django.db import Error as DatabaseError

from scheduler_app import events
from scheduler_app.clock import Instant, iso, read_clock
from scheduler_app.conf import conf
from scheduler_app.domain.verdict import Ending
from scheduler_app.models.choices import Lane
from scheduler_app.runtime.attempt_process import AttemptPool
from scheduler_app.runtime.attempt_spec import AttemptResult, AttemptSpec
from scheduler_app.runtime.loop import FIRST_PAUSE_SECONDS, reset_connection, run_until_stopped
from scheduler_app.runtime.signals import StopRequest, Watched
from scheduler_app.runtime.wakeup import Listener
from scheduler_app.services.claiming import Claimed, held_but_unknown
from scheduler_app.services.completion import FinishedAttempt
from scheduler_app.services.dispatcher import Dispatcher
from scheduler_app.services.heartbeats import Identity, announce, default_name, renew, retire
from scheduler_app.services.wakeups import ROWS_DUE
from scheduler_app.tasks.registry import task_names

POLL_SECONDS = 1.0
BATCH_LIMIT = 100
# A completion waits this long for company; while more keep coming, a batch waits no longer than the second.
QUIET_SECONDS = 0.02
LONGEST_WAIT_SECONDS = 0.1
FAST_END_SECONDS = 3.0


class WorkerLoop:
    """One worker over the task lane. `tick()` does one round and returns the seconds to wait."""

    def __init__(
        self, *, slots: int, worker_id: str = "", queues: tuple[str, ...] = (), once: bool = False
    ) -> None:
        self._slots = slots
        self._once = once
        self._base = Identity(
            kind="worker",
            name=worker_id or default_name("worker"),
            tasks=tuple(task_names()),
            queues=queues,
            slots=slots,
        )
        self._pool = AttemptPool()
        self._listener = Listener(ROWS_DUE)
        self._running: dict[str, Claimed] = {}
        self._finished: list[FinishedAttempt] = []
        self._first_finished = self._last_finished = 0.0
        self._poll_due = 0.0
        self._idle = False
        self._unsure = False
        self._draining = False
        self._announced = False
        self._begin_incarnation(self._base)

    def _begin_incarnation(self, identity: Identity) -> None:
        self.identity = identity
        self._dispatcher = Dispatcher(
            identity=identity, lane=Lane.TASK.value, tasks=identity.tasks, queues=identity.queues
        )
        self._announced = False
        self._beat_due = 0.0
        self._alive_until = 0.0

    # --- the round

    def tick(self) -> float:
        """Take results, stay alive, do a database round when one is due; return the seconds to wait."""
        self._take_results()
        if self._listener.heard():
            self._poll_due = 0.0
        if time.monotonic() >= self._beat_due:
            self._beat()
        if self._unsure:
            self._adopt_unknown()
        if self._round_is_due():
            self._round()
        return self._seconds_to_wait()

    def watched(self) -> Sequence[Watched]:
        return (self._pool, self._listener)

    def database_lost(self) -> None:
        """A commit may stand although its answer was lost: look for claims nobody knows of later."""
        self._listener.close()
        self._unsure = True
        self._take_results()

    def finished(self) -> bool:
        return self._once and self._idle and not self._running and not self._finished

    def _take_results(self) -> None:
        for result in self._pool.poll():
            claimed = self._running.pop(result.key, None)
            if claimed is None:
                continue
            now = time.monotonic()
            self._first_finished = self._first_finished if self._finished else now
            self._last_finished = now
            self._finished.append(self._finished_attempt(claimed, result))

    def _finished_attempt(self, claimed: Claimed, result: AttemptResult) -> FinishedAttempt:
        started = claimed.row.started_at
        assert started is not None
        seconds = 0.0
        if result.started_monotonic is not None and result.ended_monotonic is not None:
            seconds = max(result.ended_monotonic - result.started_monotonic, 0.0)
        return FinishedAttempt(
            claimed=claimed,
            ending=_ending(result, claimed, draining=self._draining),
            finished_at=started + timedelta(seconds=seconds),
            output=result.output,
            error=result.error,
            result=result.result,
            exit_code=result.exit_code,
            cpu_seconds=result.cpu_seconds,
            peak_rss_bytes=result.peak_rss_bytes,
        )

    def _round_is_due(self) -> bool:
        now = time.monotonic()
        if self._finished:
            enough = len(self._finished) >= max(1, min(BATCH_LIMIT, self._slots // 4))
            quiet = now - self._last_finished >= QUIET_SECONDS
            return enough or quiet or now - self._first_finished >= LONGEST_WAIT_SECONDS
        return now >= self._poll_due and self._free_slots() > 0

    def _free_slots(self) -> int:
        """Slots that may be filled now; none while draining or when the sign of life is about to lapse."""
        if self._draining or time.monotonic() >= self._alive_until:
            return 0
        return self._slots - len(self._running)

    def _round(self) -> None:
        free, batch = self._free_slots(), self._finished
        try:
            done = self._dispatcher.round(finished=batch, free_slots=free)
        except (DataError, IntegrityError, ValueError):
            if not batch:
                raise
            self._dispatcher.complete_one_by_one(batch)
            self._finished = []
            return
        self._finished = []
        self._idle = free > 0 and not done.started and not done.more
        self._poll_due = 0.0 if done.more else time.monotonic() + POLL_SECONDS
        for claimed in done.started:
            self._launch(claimed, done.instant)

    def _launch(self, claimed: Claimed, instant: Instant) -> None:
        """Start the child of an attempt that is on record, unless this worker counts as dead by now."""
        if time.monotonic() >= self._alive_until:
            self._unsure = True
            return
        lease_seconds = (claimed.lease_expires_at - instant.now).total_seconds()
        key = f"{claimed.row.id}:{claimed.token}"
        self._running[key] = claimed
        self._pool.start(
            AttemptSpec(
                key=key,
                task=claimed.task,
                config=claimed.config,
                context={
                    "execution_id": claimed.row.id,
                    "job_id": claimed.row.job_id,
                    "attempt": claimed.row.attempts,
                    "scheduled_for": iso(claimed.scheduled_for),
                    "delivery_key": claimed.delivery_key,
                    "fence": claimed.fence,
                },
                timeout_seconds=claimed.timeout_seconds,
                deadline_monotonic=instant.monotonic + lease_seconds,
            )
        )

    def _seconds_to_wait(self) -> float:
        now = time.monotonic()
        until = [self._beat_due - now]
        if self._finished:
            until.append(QUIET_SECONDS - (now - self._last_finished))
        if self._free_slots() > 0:
            until.append(self._poll_due - now)
        return max(min(until), 0.0)

    # --- staying alive

    def _beat(self) -> None:
        instant = read_clock()
        if not self._announced:
            announce(identity=self.identity, now=instant.now)
            self._announced = True
        elif not renew(
            identity=self.identity, now=instant.now, running=len(self._running), draining=self._draining
        ):
            self._start_over(instant)
        window = conf().alive_seconds
        self._alive_until = instant.monotonic + window - min(2.0, window * 0.2)
        self._beat_due = instant.monotonic + conf().heartbeat_seconds
        self._pool.extend_alive(self._alive_until)

    def _start_over(self, instant: Instant) -> None:
        """This incarnation counts as dead: its work may run elsewhere by now, so nothing goes on here."""
        events.emit("worker.heartbeat_lost", worker_id=self.identity.name, running=len(self._running))
        for key in self._running:
            self._pool.terminate(key)
        self._running.clear()
        self._finished.clear()
        self._begin_incarnation(
            Identity(
                kind="worker",
                name=self._base.name,
                tasks=self._base.tasks,
                queues=self._base.queues,
                slots=self._slots,
            )
        )
        announce(identity=self.identity, now=instant.now)
        self._announced = True

    def _adopt_unknown(self) -> None:
        """Start what a claim took before its answer was lost."""
        known = [claimed.row.id for claimed in self._running.values()]
        known += [attempt.claimed.row.id for attempt in self._finished]
        instant = read_clock()
        unknown = held_but_unknown(identity=self.identity, known=known)
        self._unsure = False
        for claimed in unknown:
            self._launch(claimed, instant)

    # --- the end

    def drain(self, stop: StopRequest) -> None:
        """Let running work finish for the grace (a second signal cuts it short), then hand the rest back."""
        events.emit("process.stopping", kind="worker", name=self.identity.name, running=len(self._running))
        self._draining = True
        self._beat_due = 0.0
        deadline = time.monotonic() + conf().drain_seconds
        while (self._running or self._finished) and not stop.urgent and time.monotonic() < deadline:
            pause = self._careful(self.tick)
            stop.wait(min(pause, max(deadline - time.monotonic(), 0.0)), self.watched())
        held = len(self._running)
        self._take_closing(self._pool.close(grace_seconds=FAST_END_SECONDS))
        last_call = time.monotonic() + FAST_END_SECONDS
        while self._finished and time.monotonic() < last_call:
            stop.wait(self._careful(self._last_round))
        if held:
            events.emit("worker.released", worker_id=self.identity.name, executions=held)
        self._listener.close()
        if self._announced and not self._finished:
            self._careful(self._retire)

    def _last_round(self) -> float:
        self._round()
        return 0.0

    def _retire(self) -> float:
        retire(identity=self.identity)
        return 0.0

    def _careful(self, step: Callable[[], float]) -> float:
        """One step towards the end; a database that is away costs a pause, not the rest of the drain."""
        try:
            return step()
        except DatabaseError:
            reset_connection()
            return FIRST_PAUSE_SECONDS

    def _take_closing(self, results: Sequence[AttemptResult]) -> None:
        for result in results:
            claimed = self._running.pop(result.key, None)
            if claimed is not None:
                self._finished.append(self._finished_attempt(claimed, result))


def _ending(result: AttemptResult, claimed: Claimed, *, draining: bool) -> Ending:
    """What the end of a process means; the first line of the error is the summary people see in lists."""
    if result.outcome == "succeeded":
        return Ending("succeeded")
    if result.outcome == "timed_out":
        return Ending("timed_out", summary=f"timed out after {claimed.timeout_seconds} s")
    if result.outcome == "expired":
        return Ending("lost", summary="its process was lost")
    if result.outcome == "terminated":
        return Ending(
            "released" if draining else "terminated", summary="handed back by its worker at shutdown"
        )
    summary = _last_line(result.error)
    return Ending("failed", retryable=result.outcome != "non_retryable", summary=summary)


def _last_line(text: str) -> str:
    """The line of a traceback that names the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "failed without a word"


def run_worker(*, slots: int, worker_id: str = "", queues: tuple[str, ...] = (), once: bool = False) -> None:
    """Run until SIGTERM or SIGINT, or with `once` until nothing is claimable; then drain."""
    daemon = WorkerLoop(slots=slots, worker_id=worker_id, queues=queues, once=once)
    events.emit("process.started", kind="worker", name=daemon.identity.name, slots=slots)
    with StopRequest() as stop:
        run_until_stopped(daemon, stop)
        daemon.drain(stop)
    events.emit("process.stopped", kind="worker", name=daemon.identity.name)
