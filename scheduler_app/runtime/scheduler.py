"""The scheduler process: sleeps until the next slot is due, turns due slots into rows, and does period work.

Any number may run on any host; none is a leader. A tick is one indexed look at what is due, so no schedule
is kept in memory. Recovery waits one alive window after the start, a reconnect or a clock step, so that
workers which were cut off with us can show that they live.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scheduler_app import events
from scheduler_app.clock import Instant, read_clock
from scheduler_app.conf import conf
from scheduler_app.runtime.loop import run_until_stopped
from scheduler_app.runtime.signals import StopRequest, Watched
from scheduler_app.runtime.wakeup import Listener
from scheduler_app.services.clock_steps import realign_after_step_back
from scheduler_app.services.heartbeats import (
    Identity,
    announce,
    default_name,
    prune_heartbeats,
    renew,
    retire,
)
from scheduler_app.services.recovery import BATCH_LEASES, fail_unknown_tasks, recover_lost_leases
from scheduler_app.services.scheduling import BATCH_JOBS, materialise_due, next_due_at, review_held_jobs
from scheduler_app.services.turns import promote_stranded
from scheduler_app.services.wakeups import JOBS_CHANGED, notify_workers

BATCHES_PER_TICK = 20
CLOCK_STEP_SECONDS = 5.0
UNFINISHED_PAUSE_SECONDS = 0.05
# The reading is a little older than it looks; waking a hair late saves a tick that finds nothing.
DUE_MARGIN_SECONDS = 0.002
SLOW_PERIOD_SECONDS = 60.0


@dataclass(slots=True)
class _Periodic:
    """Work done every so often; due at once after the start."""

    every_seconds: float
    work: Callable[[Instant], object]
    due_monotonic: float = field(default=0.0)


class SchedulerLoop:
    """One scheduler. `tick()` does one round and returns the seconds to wait."""

    def __init__(self, *, scheduler_id: str = "", tick_seconds: float = 5.0, once: bool = False) -> None:
        self.identity = Identity(kind="scheduler", name=scheduler_id or default_name("scheduler"))
        self._tick_seconds = tick_seconds
        self._once = once
        self._ticked = False
        self._announced = False
        self._beat_due = 0.0
        self._listener = Listener(JOBS_CHANGED)
        self._last: Instant | None = None
        self._recover_from = 0.0 if once else time.monotonic() + conf().alive_seconds
        slow = max(1.0, min(SLOW_PERIOD_SECONDS, conf().unknown_task_seconds / 2))
        self._periodic = (
            _Periodic(0.0, self._promote),
            _Periodic(float(conf().heartbeat_seconds), self._recover),
            _Periodic(slow, lambda instant: fail_unknown_tasks(now=instant.now)),
            _Periodic(SLOW_PERIOD_SECONDS, lambda instant: review_held_jobs(now=instant.now)),
            _Periodic(
                0.0 if once else SLOW_PERIOD_SECONDS, lambda instant: prune_heartbeats(now=instant.now)
            ),
        )

    def tick(self) -> float:
        """Materialise what is due, do the period work that is due, say how long nothing will be."""
        self._listener.heard()
        instant = read_clock()
        self._watch_clock(instant)
        self._beat(instant)
        unfinished = self._materialise(instant)
        for periodic in self._periodic:
            if time.monotonic() >= periodic.due_monotonic:
                periodic.work(instant)
                periodic.due_monotonic = time.monotonic() + periodic.every_seconds
        self._ticked = True
        return UNFINISHED_PAUSE_SECONDS if unfinished else self._seconds_until_due(instant)

    def watched(self) -> Sequence[Watched]:
        return (self._listener,)

    def database_lost(self) -> None:
        self._listener.close()
        self._recover_from = time.monotonic() + conf().alive_seconds

    def finished(self) -> bool:
        return self._once and self._ticked

    def close(self) -> None:
        """Take back the sign of life; called when the loop has ended."""
        self._listener.close()
        if self._announced:
            retire(identity=self.identity)

    def _materialise(self, instant: Instant) -> bool:
        unfinished: list[int] = []
        rows = jobs = 0
        for _ in range(BATCHES_PER_TICK):
            result = materialise_due(now=instant.now, exclude=unfinished)
            unfinished += result.unfinished
            rows += result.rows
            jobs += result.jobs
            if result.jobs < BATCH_JOBS:
                break
        else:
            return True
        if jobs:
            events.emit("scheduler.tick", jobs=jobs, rows=rows, unfinished=len(unfinished))
        return bool(unfinished)

    def _seconds_until_due(self, instant: Instant) -> float:
        longest = min(self._tick_seconds, max(self._beat_due - time.monotonic(), 0.0))
        due_at = next_due_at()
        if due_at is None:
            return longest
        elapsed = time.monotonic() - instant.monotonic
        until_due = (due_at - instant.now).total_seconds() - elapsed + DUE_MARGIN_SECONDS
        return min(max(until_due, 0.0), longest)

    def _beat(self, instant: Instant) -> None:
        if instant.monotonic < self._beat_due:
            return
        if not self._announced:
            announce(identity=self.identity, now=instant.now)
            self._announced = True
        elif not renew(identity=self.identity, now=instant.now):
            self.identity = Identity(kind="scheduler", name=self.identity.name)
            announce(identity=self.identity, now=instant.now)
        self._beat_due = instant.monotonic + conf().heartbeat_seconds

    def _watch_clock(self, instant: Instant) -> None:
        """A step of the database clock against this host's monotonic one delays recovery by a window."""
        if self._last is not None:
            passed = (instant.now - self._last.now).total_seconds()
            step = passed - (instant.monotonic - self._last.monotonic)
            if abs(step) > CLOCK_STEP_SECONDS:
                events.emit("clock.step", seconds=round(step, 1))
                self._recover_from = time.monotonic() + conf().alive_seconds
            if step < -CLOCK_STEP_SECONDS:
                realign_after_step_back(now=instant.now, step_seconds=step)
        self._last = instant

    def _promote(self, instant: Instant) -> None:
        if promote_stranded(now=instant.now):
            notify_workers()

    def _recover(self, instant: Instant) -> None:
        if time.monotonic() < self._recover_from:
            return
        while recover_lost_leases(now=instant.now) >= BATCH_LEASES:
            instant = read_clock()


def run_scheduler(*, scheduler_id: str = "", tick_seconds: float = 5.0, once: bool = False) -> None:
    """Run until SIGTERM or SIGINT, or for one tick."""
    daemon = SchedulerLoop(scheduler_id=scheduler_id, tick_seconds=tick_seconds, once=once)
    events.emit("process.started", kind="scheduler", name=daemon.identity.name)
    with StopRequest() as stop:
        run_until_stopped(daemon, stop)
    daemon.close()
    events.emit("process.stopped", kind="scheduler", name=daemon.identity.name)
