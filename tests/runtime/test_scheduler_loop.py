"""One scheduler's round: what is due becomes rows, and the sleep is as long as nothing is due."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings
from structlog.testing import capture_logs

from scheduler_app.clock import Instant, database_now
from scheduler_app.models import Execution, Heartbeat, Job
from scheduler_app.runtime import scheduler
from scheduler_app.runtime.scheduler import UNFINISHED_PAUSE_SECONDS, SchedulerLoop
from scheduler_app.services.jobs import create_job
from tests.factories import job_values, make_execution, make_lease, make_worker
from tests.services.steps import fresh

pytestmark = pytest.mark.django_db

MakeLoop = Callable[..., SchedulerLoop]


@pytest.fixture
def short_windows(settings: Settings) -> None:
    settings.SCHEDULER = dataclasses.replace(
        settings.SCHEDULER, heartbeat_seconds=1, alive_seconds=5, lease_seconds=10, lease_buffer_seconds=2
    )


@pytest.fixture
def make_loop() -> Iterator[MakeLoop]:
    """Makes schedulers; at the end their connections are closed."""
    loops: list[SchedulerLoop] = []

    def make(**values: Any) -> SchedulerLoop:
        loops.append(SchedulerLoop(**values))
        return loops[-1]

    yield make
    for loop in loops:
        loop.close()


def live_job(**values: object) -> Job:
    """A job on the clock of the database."""
    plain = job_values(**{"anchor_at": None, "every": "1h", "overlap_policy": "allow", **values})
    return create_job(values=plain, actor="tester")


def due(job: Job, seconds_ago: int = 0) -> None:
    """Let its first slot have come."""
    slot = database_now().replace(microsecond=0) - timedelta(seconds=seconds_ago)
    Job.objects.filter(id=job.id).update(next_run_at=slot, anchor_at=slot)


def test_a_round_makes_rows_and_shows_a_sign_of_life(make_loop: MakeLoop) -> None:
    job = live_job()
    due(job)
    loop = make_loop(scheduler_id="scheduler-a")

    loop.tick()

    assert Execution.objects.get().job_id == job.id
    beat = Heartbeat.objects.get()
    assert (beat.kind, beat.name, beat.incarnation) == ("scheduler", "scheduler-a", loop.identity.incarnation)
    loop.close()
    assert not Heartbeat.objects.exists()


def test_with_nothing_to_do_it_sleeps_its_tick_or_to_its_next_sign_of_life(make_loop: MakeLoop) -> None:
    assert 0 < make_loop(tick_seconds=3).tick() <= 3
    assert 0 < make_loop(tick_seconds=3_600).tick() <= 5


def test_it_sleeps_no_longer_than_to_the_next_slot(make_loop: MakeLoop) -> None:
    job = live_job()
    Job.objects.filter(id=job.id).update(next_run_at=database_now() + timedelta(seconds=2))

    assert 0 < make_loop(tick_seconds=60).tick() <= 2.1


def test_a_job_that_catches_up_is_looked_at_again_soon(make_loop: MakeLoop) -> None:
    job = live_job(every="1m", misfire_policy="catch_up")
    due(job, seconds_ago=50 * 60)
    loop = make_loop()

    pauses = [loop.tick() for _ in range(3)]

    assert pauses[:2] == [UNFINISHED_PAUSE_SECONDS] * 2
    assert pauses[2] > UNFINISHED_PAUSE_SECONDS
    assert Execution.objects.count() == 51


def test_one_round_takes_all_that_is_due_batch_by_batch(
    make_loop: MakeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "BATCH_JOBS", 2)
    original = scheduler.materialise_due
    monkeypatch.setattr(scheduler, "materialise_due", lambda **values: original(**{**values, "limit": 2}))
    for _ in range(5):
        due(live_job())

    make_loop().tick()

    assert Execution.objects.count() == 5


@pytest.mark.usefixtures("short_windows")
def test_a_fresh_scheduler_gives_workers_one_window_before_it_takes_their_rows(make_loop: MakeLoop) -> None:
    row = lost_row()

    make_loop().tick()

    assert fresh(row).status == "running"


@pytest.mark.usefixtures("short_windows")
def test_a_single_round_recovers_at_once(make_loop: MakeLoop) -> None:
    row = lost_row()
    loop = make_loop(once=True)
    assert not loop.finished()

    loop.tick()

    assert fresh(row).status == "retry_scheduled"
    assert loop.finished()


def lost_row() -> Execution:
    """A run whose worker has been silent for an hour."""
    an_hour_ago = database_now() - timedelta(hours=1)
    worker = make_worker(now=an_hour_ago)
    row = make_execution(live_job(), "running", slot=an_hour_ago.replace(microsecond=0))
    row.lease.delete()
    make_lease(row, worker)
    return row


def test_the_tick_promotes_a_head_that_nobody_promoted(make_loop: MakeLoop) -> None:
    job = live_job(overlap_policy="queue")
    row = make_execution(job, held_back=True)

    make_loop().tick()

    assert not fresh(row).held_back


def test_a_sign_of_life_that_lapsed_begins_anew_under_another_incarnation(
    make_loop: MakeLoop, settings: Settings
) -> None:
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, heartbeat_seconds=0)
    loop = make_loop(scheduler_id="scheduler-a")
    loop.tick()
    first = loop.identity.incarnation
    Heartbeat.objects.update(alive_until=database_now() - timedelta(seconds=1))

    loop.tick()

    assert loop.identity.incarnation != first
    assert Heartbeat.objects.filter(incarnation=loop.identity.incarnation).exists()


@pytest.mark.parametrize("seconds", [-3_600, 3_600])
def test_a_step_of_the_clock_is_noticed_and_postpones_recovery(
    make_loop: MakeLoop, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = lost_row()
    loop = make_loop(once=True)
    read: Callable[[], Instant] = scheduler.read_clock
    loop._watch_clock(read())
    stepped = timedelta(seconds=seconds)
    monkeypatch.setattr(
        scheduler, "read_clock", lambda: dataclasses.replace(read(), now=read().now + stepped)
    )

    with capture_logs() as lines:
        loop.tick()

    [line] = [line for line in lines if line["event"] == "clock.step"]
    assert abs(line["seconds"] - seconds) < 2
    assert fresh(row).status == "running"


def test_a_lost_connection_postpones_recovery_too(make_loop: MakeLoop) -> None:
    row = lost_row()
    loop = make_loop(once=True)
    loop.database_lost()

    loop.tick()

    assert fresh(row).status == "running"
