"""Materialise: one row a slot, by the policies of the job, all or nothing."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.domain.delivery_key import slot_delivery_key
from scheduler_app.models import Event, Execution, Job, MissedRange
from scheduler_app.services.jobs import delete_job
from scheduler_app.services.scheduling import next_due_at
from tests.factories import NOW, at, make_execution, make_job
from tests.services.steps import tick

pytestmark = pytest.mark.django_db


def rows_of(job: Job, status: str = "pending") -> list[datetime]:
    return list(
        Execution.objects.filter(job=job, status=status)
        .order_by("scheduled_for")
        .values_list("scheduled_for", flat=True)
    )


def minutes(first: int, last: int) -> list[datetime]:
    return [at(60 * number) for number in range(first, last + 1)]


def test_a_due_slot_becomes_one_pending_row_and_the_pointer_moves_on() -> None:
    job = make_job(priority=3, queue="reports", max_attempts=5)

    result = tick(at(0.4))

    assert (result.jobs, result.rows, result.conflicts, result.faults) == (1, 1, 0, 0)
    row = Execution.objects.get()
    assert (row.status, row.trigger, row.lane, row.attempts, row.reason) == (
        "pending",
        "schedule",
        "task",
        0,
        "",
    )
    assert (row.scheduled_for, row.available_at, row.claim_at) == (NOW, NOW, NOW)
    assert (row.rank_at, row.queue, row.max_attempts) == (at(-180), "reports", 5)
    assert (row.job_version, row.task) == (1, "always_succeed")
    assert row.delivery_key == slot_delivery_key(job.uid, NOW)
    job.refresh_from_db()
    assert (job.last_slot_for, job.next_run_at) == (NOW, at(60))


def test_a_slot_makes_no_event_and_no_range() -> None:
    make_job()
    Event.objects.all().delete()

    tick(NOW)

    assert not Event.objects.exists()
    assert not MissedRange.objects.exists()


def test_nothing_is_made_before_its_instant() -> None:
    make_job()

    assert tick(at(-0.001)).jobs == 0


def test_a_second_tick_at_the_same_instant_makes_nothing() -> None:
    make_job()
    tick(NOW)

    assert tick(NOW).jobs == 0
    assert Execution.objects.count() == 1


def test_a_slot_that_has_its_row_already_is_counted_and_left_alone() -> None:
    job = make_job()
    tick(NOW)
    Execution.objects.update(reason="mine")
    Job.objects.filter(id=job.id).update(next_run_at=NOW)

    result = tick(at(60))

    assert (result.rows, result.conflicts) == (1, 1)
    assert rows_of(job) == [NOW, at(60)]
    assert Execution.objects.get(scheduled_for=NOW).reason == "mine"


def test_a_manual_run_of_the_same_instant_does_not_take_the_slot() -> None:
    job = make_job()
    make_execution(job, "succeeded", slot=NOW)

    assert tick(NOW).rows == 1


@pytest.mark.parametrize(
    "change", [{"enabled": False}, {"fault": "broken"}, {"deleted_at": NOW}, {"next_run_at": None}]
)
def test_a_job_that_is_not_to_run_is_left_alone(change: dict[str, object]) -> None:
    job = make_job()
    Job.objects.filter(id=job.id).update(**change)

    assert tick(at(600)).jobs == 0
    assert next_due_at() is None


def test_the_job_that_waited_longest_comes_first() -> None:
    late = make_job(every="1h", anchor_at=at(-120), created_at=at(-130), misfire_grace_seconds=600)
    make_job()

    tick(at(1), limit=1)

    assert Execution.objects.get().job_id == late.id
    assert next_due_at() == NOW


def test_a_one_time_job_fires_once_and_is_completed() -> None:
    job = make_job(run_at="2026-03-02T12:00:00Z")
    tick(at(1))
    tick(at(3600))

    job.refresh_from_db()
    assert rows_of(job) == [NOW]
    assert (job.next_run_at, job.is_completed, job.state) == (None, True, "finished")


def test_an_interval_keeps_its_grid_however_late_the_ticks_are() -> None:
    job = make_job(every="30s")
    for late in (0.9, 31.7, 89.999, 90.0):
        tick(at(late))

    assert rows_of(job) == [at(0), at(30), at(60), at(90)]


def test_coalesce_makes_fifty_missed_slots_one_row_one_event_and_no_missed_rows() -> None:
    job = make_job(misfire_policy="coalesce")

    result = tick(at(49 * 60 + 30))

    assert (result.rows, result.unfinished) == (1, [])
    assert (rows_of(job), rows_of(job, "missed")) == ([at(49 * 60)], [])
    assert "49 earlier slots" in Execution.objects.get().reason
    found = MissedRange.objects.get()
    assert (found.first_slot_for, found.last_slot_for, found.count, found.reason) == (
        NOW,
        at(48 * 60),
        49,
        "coalesced",
    )
    assert Event.objects.filter(action="job.misfire", object_id=job.id).count() == 1
    job.refresh_from_db()
    assert (job.last_slot_for, job.next_run_at) == (at(49 * 60), at(50 * 60))


def test_catch_up_makes_fifty_rows_in_order_over_three_ticks() -> None:
    job = make_job(misfire_policy="catch_up")
    now, made = at(49 * 60 + 30), []

    for _ in range(3):
        result = tick(now)
        made.append(result.rows)

    assert made == [20, 20, 10]
    assert result.unfinished == []
    assert rows_of(job) == minutes(0, 49)
    assert tick(now).jobs == 0


def test_a_job_that_catches_up_does_not_hold_up_other_due_jobs() -> None:
    busy = make_job(misfire_policy="catch_up")
    other = make_job(every="1h", anchor_at=at(49 * 60), created_at=at(48 * 60))
    now = at(49 * 60 + 30)

    first = tick(now, limit=1)
    second = tick(now, exclude=first.unfinished, limit=1)

    assert first.unfinished == [busy.id]
    assert (second.rows, second.unfinished) == (1, [])
    assert rows_of(other) == [at(49 * 60)]


def test_catch_up_with_overlap_skip_runs_one_and_misses_the_rest() -> None:
    job = make_job(misfire_policy="catch_up", overlap_policy="skip")
    for _ in range(3):
        tick(at(49 * 60 + 30))

    assert rows_of(job) == [NOW]
    assert rows_of(job, "missed") == minutes(1, 49)
    reasons = set(Execution.objects.filter(status="missed").values_list("reason", flat=True))
    assert len(reasons) == 1
    assert reasons.pop().startswith("overlap")


def test_catch_up_with_overlap_queue_runs_all_of_them_one_after_another() -> None:
    job = make_job(misfire_policy="catch_up", overlap_policy="queue")
    for _ in range(3):
        tick(at(49 * 60 + 30))

    assert rows_of(job) == minutes(0, 49)
    assert Execution.objects.filter(claim_at__isnull=False).count() == 1
    assert Execution.objects.filter(held_back=True).count() == 49


def test_skip_marks_what_is_beyond_its_grace_as_missed_and_runs_the_rest() -> None:
    job = make_job(misfire_policy="skip", misfire_grace_seconds=90)

    tick(at(10 * 60 + 30))

    assert rows_of(job) == minutes(9, 10)
    assert rows_of(job, "missed") == minutes(0, 8)
    missed = Execution.objects.filter(status="missed").first()
    assert missed is not None
    assert missed.reason == "misfire: found later than its grace of 90 s"
    assert (missed.claim_at, missed.finished_at) == (None, at(10 * 60 + 30))


def test_skip_gives_rows_to_the_newest_twenty_and_one_range_to_the_older() -> None:
    job = make_job(misfire_policy="skip", misfire_grace_seconds=0)

    tick(at(49 * 60 + 30))

    assert rows_of(job, "missed") == minutes(30, 49)
    found = MissedRange.objects.get()
    assert (found.first_slot_for, found.last_slot_for, found.count) == (NOW, at(29 * 60), 30)
    assert Event.objects.filter(action="job.misfire").count() == 1


@pytest.mark.parametrize("policy", ["coalesce", "catch_up", "skip"])
def test_a_job_of_each_second_three_days_late_costs_few_rows(policy: str) -> None:
    job = make_job(every="1s", misfire_policy=policy, created_at=at(-1))

    tick(at(3 * 86_400))

    assert Execution.objects.count() <= 100
    job.refresh_from_db()
    assert job.last_slot_for is not None
    covered = Execution.objects.count() + sum(
        (entry.last_slot_for - entry.first_slot_for).total_seconds() + 1
        for entry in MissedRange.objects.all()
    )
    assert covered == (job.last_slot_for - NOW).total_seconds() + 1


def test_a_deleted_job_makes_no_more_rows() -> None:
    job = make_job()
    delete_job(job_id=job.id, actor="admin", now=at(-1))

    assert tick(at(60)).jobs == 0


@pytest.mark.postgresql
def test_a_batch_costs_the_same_statements_for_two_jobs_and_for_two_hundred() -> None:
    counts = []
    for jobs in (2, 200):
        for number in range(jobs):
            policy = ("skip", "queue", "allow")[number % 3]
            make_job(overlap_policy=policy, misfire_policy=("coalesce", "catch_up", "skip")[number % 3])
        with CaptureQueriesContext(connection) as queries:
            result = tick(at(150))
        assert result.jobs == jobs
        counts.append(len(queries))
        Job.objects.all().delete()

    assert counts[0] == counts[1]
    assert counts[1] <= 12


@pytest.mark.postgresql
def test_a_thousand_occurrences_cost_at_most_ten_statements() -> None:
    for number in range(50):
        make_job(overlap_policy=("queue", "allow")[number % 2], misfire_policy="catch_up")

    with CaptureQueriesContext(connection) as queries:
        result = tick(at(19 * 60 + 30))

    spoken = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert result.rows == 1_000
    assert len(spoken) <= 10, "\n".join(statement[:80] for statement in spoken)
