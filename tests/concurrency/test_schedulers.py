"""Schedulers side by side, and schedulers beside operators: one row a slot, none for a stopped job."""

from __future__ import annotations

from collections import Counter

import pytest
from django.db import transaction

from scheduler_app.models import Execution, Job, MissedRange
from scheduler_app.services.jobs import disable_job, edit_job, enable_job
from scheduler_app.services.scheduling import materialise_due
from tests.concurrency.actors import Gate, actors, result, until_somebody_waits
from tests.factories import NOW, at, make_job
from tests.services.steps import tick

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


def tick_until_done(now_seconds: float) -> int:
    """Tick until nothing is due; the number of rows made."""
    rows = 0
    while (done := materialise_due(now=at(now_seconds), limit=7)).jobs:
        assert done.conflicts == 0
        rows += done.rows
    return rows


@pytest.mark.parametrize("policy", ["catch_up", "skip", "coalesce"])
def test_several_schedulers_make_one_row_a_slot(policy: str) -> None:
    jobs = [make_job(misfire_policy=policy, misfire_grace_seconds=0) for _ in range(40)]
    late = 49 * 60 + 30

    with actors() as stage:
        made = stage.together(*[lambda: tick_until_done(late)] * 4)
        # A scheduler that found every due job locked has left early, so look once more.
        made.append(tick_until_done(late))

    slots = Counter(Execution.objects.values_list("job_id", "scheduled_for"))
    assert max(slots.values()) == 1
    assert sum(made) == len(slots)
    ranged = Counter[int]()
    for found in MissedRange.objects.all():
        ranged[found.job_id] += found.count or 0
    rows = Counter(Execution.objects.values_list("job_id", flat=True))
    assert {rows[job.id] + ranged[job.id] for job in jobs} == {50}
    assert set(Job.objects.values_list("next_run_at", flat=True)) == {at(50 * 60)}


def test_a_scheduler_passes_over_jobs_that_another_has_locked() -> None:
    make_job()
    locked, go_on = Gate(), Gate()

    def slow() -> int:
        with transaction.atomic():
            rows = tick(NOW).rows
            locked.open()
            go_on.wait()
        return rows

    with actors() as stage:
        first = stage.start(slow)
        locked.wait()
        other = make_job()
        assert tick(NOW).rows == 1
        assert Execution.objects.get().job_id == other.id
        go_on.open()
        assert result(first) == 1

    assert Execution.objects.count() == 2
    assert tick(NOW).jobs == 0


def test_a_disable_that_waits_for_a_tick_cancels_the_row_of_that_tick() -> None:
    job = make_job()
    inserted, go_on = Gate(), Gate()

    def slow_tick() -> None:
        with transaction.atomic():
            assert tick(NOW).rows == 1
            inserted.open()
            go_on.wait()

    with actors() as stage:
        ticking = stage.start(slow_tick)
        inserted.wait()
        disabling = stage.start(disable_job, job_id=job.id, actor="admin", now=at(1))
        until_somebody_waits()
        go_on.open()
        result(ticking)
        assert result(disabling).cancelled == 1

    row = Execution.objects.get()
    assert (row.status, row.scheduled_for) == ("cancelled", NOW)
    job.refresh_from_db()
    assert (job.enabled, job.next_run_at) == (False, at(60))


def test_a_tick_beside_an_uncommitted_disable_makes_no_row() -> None:
    job = make_job()
    disabled, go_on = Gate(), Gate()

    def slow_disable() -> None:
        with transaction.atomic():
            disable_job(job_id=job.id, actor="admin", now=NOW)
            disabled.open()
            go_on.wait()

    with actors() as stage:
        disabling = stage.start(slow_disable)
        disabled.wait()
        assert tick(NOW).jobs == 0
        go_on.open()
        result(disabling)

    assert tick(at(60)).jobs == 0
    assert not Execution.objects.exists()


def test_disabling_and_enabling_beside_ticks_leaves_every_slot_on_one_record() -> None:
    jobs = [make_job(every="1s", created_at=at(-1), misfire_policy="catch_up") for _ in range(6)]

    def scheduler() -> None:
        for second in range(60):
            tick(at(second))

    def operator() -> None:
        for second in range(0, 60, 3):
            for job in jobs:
                disable_job(job_id=job.id, actor="admin", now=at(second))
                enable_job(job_id=job.id, actor="admin", now=at(second))

    with actors() as stage:
        stage.together(scheduler, scheduler, operator)
    for _ in range(5):
        tick(at(60))

    for job in jobs:
        slots = Counter(Execution.objects.filter(job=job).values_list("scheduled_for", flat=True))
        assert max(slots.values()) == 1
        covered = set(slots)
        for found in MissedRange.objects.filter(job=job):
            seconds = int((found.last_slot_for - NOW).total_seconds())
            first = int((found.first_slot_for - NOW).total_seconds())
            covered |= {at(second) for second in range(first, seconds + 1)}
        job.refresh_from_db()
        assert job.last_slot_for is not None
        last = int((job.last_slot_for - NOW).total_seconds())
        assert covered == {at(second) for second in range(last + 1)}


def test_a_schedule_edit_waits_for_the_tick_and_leaves_its_row_alone() -> None:
    job = make_job()
    inserted, go_on = Gate(), Gate()

    def slow_tick() -> None:
        with transaction.atomic():
            tick(NOW)
            inserted.open()
            go_on.wait()

    with actors() as stage:
        ticking = stage.start(slow_tick)
        inserted.wait()
        editing = stage.start(
            edit_job, job_id=job.id, values={"every": "5m", "anchor_at": NOW}, actor="admin", now=at(1)
        )
        until_somebody_waits()
        go_on.open()
        result(ticking)
        assert result(editing).next_run_at == at(300)

    assert list(Execution.objects.values_list("scheduled_for", "status")) == [(NOW, "pending")]
