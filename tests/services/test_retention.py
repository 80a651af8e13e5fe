"""Retention keeps what is young, counted in or still open, and never lets a slot fire again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.models import Alert, DeadLetter, Event, Execution, Job, MissedRange
from scheduler_app.services import retention
from scheduler_app.services.jobs import delete_job
from scheduler_app.services.retention import prune_history
from tests.factories import NOW, make_execution, make_job
from tests.services.steps import tick

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def _aged(job: Job, days: float, status: str = "succeeded") -> Execution:
    return make_execution(job, status, slot=NOW - days * DAY)


@pytest.mark.parametrize(
    ("count", "days", "kept_ages"),
    [
        (0, 0, [40, 20, 5, 2]),
        (0, 30, [20, 5, 2]),
        (2, 0, [5, 2]),
        (1, 30, [2]),
        (1000, 10, [5, 2]),
    ],
)
def test_zero_switches_an_axis_off_and_each_axis_removes_by_itself(
    count: int, days: int, kept_ages: list[int]
) -> None:
    job = make_job(retention_count=count, retention_days=days)
    for age in (40, 20, 5, 2):
        _aged(job, age)

    result = prune_history(now=NOW)

    slots = Execution.objects.order_by("scheduled_for").values_list("scheduled_for", flat=True)
    assert [(NOW - slot) // DAY for slot in slots] == kept_ages
    assert result.executions == 4 - len(kept_ages)


def test_waiting_and_running_rows_and_slots_of_the_last_day_stay_whatever_the_numbers() -> None:
    job = make_job(retention_count=1, retention_days=1)
    stay = {
        make_execution(job, "pending", slot=NOW - 40 * DAY).pk,
        make_execution(job, "running", slot=NOW - 40 * DAY).pk,
        _aged(job, 0.5).pk,
        _aged(job, 0.2).pk,
    }
    _aged(job, 40)

    prune_history(now=NOW)

    assert set(Execution.objects.values_list("pk", flat=True)) == stay


def test_rows_with_an_open_dead_letter_or_an_unresolved_alert_stay() -> None:
    job = make_job(retention_count=0, retention_days=1)
    dead, noted, plain = (_aged(job, 40, "failed") for _ in range(3))
    letter = DeadLetter.objects.create(execution=dead, job=job, created_at=NOW - 40 * DAY)
    alert = Alert.objects.create(
        key="k",
        kind="execution_failed",
        execution=noted,
        message="m",
        first_seen_at=NOW - 40 * DAY,
        last_seen_at=NOW - 40 * DAY,
    )

    prune_history(now=NOW)
    assert set(Execution.objects.values_list("pk", flat=True)) == {dead.pk, noted.pk}

    letter.status = "discarded"
    letter.save()
    alert.status = "resolved"
    alert.save()
    prune_history(now=NOW)
    assert not Execution.objects.exists()
    assert plain.pk not in Execution.objects.values_list("pk", flat=True)


def test_a_pruned_slot_does_not_fire_again() -> None:
    job = make_job(retention_count=0, retention_days=1)
    tick(NOW)
    Execution.objects.update(status="succeeded", claim_at=None, finished_at=NOW)
    watermark = Job.objects.get(pk=job.pk).last_slot_for

    prune_history(now=NOW + 40 * DAY)

    assert not Execution.objects.exists()
    kept = Job.objects.get(pk=job.pk)
    assert kept.last_slot_for == watermark
    tick(NOW + timedelta(seconds=60))
    assert list(Execution.objects.values_list("scheduled_for", flat=True)) == [NOW + timedelta(seconds=60)]


def test_a_dry_run_counts_the_same_and_removes_nothing() -> None:
    job = make_job(retention_count=0, retention_days=10)
    for age in (40, 20, 5):
        _aged(job, age)
    MissedRange.objects.create(
        job=job,
        first_slot_for=NOW - 50 * DAY,
        last_slot_for=NOW - 40 * DAY,
        reason="skipped",
        recorded_at=NOW,
    )
    Event.objects.create(at=NOW - 400 * DAY, actor="a", action="x", object_type="job")

    said = prune_history(now=NOW, dry_run=True)
    assert (said.executions, said.missed_ranges, said.events) == (2, 1, 1)
    assert Execution.objects.count() == 3 and MissedRange.objects.count() == 1
    assert said.summary.startswith("would remove 2 executions")

    done = prune_history(now=NOW)
    assert (done.executions, done.missed_ranges, done.events) == (2, 1, 1)


def test_deleted_and_finished_jobs_go_once_their_history_is_gone() -> None:
    deleted = make_job(retention_count=0, retention_days=1)
    _aged(deleted, 40)
    delete_job(job_id=deleted.pk, actor="ana", now=NOW)
    live = make_job()
    once = make_job(run_at="2026-03-02T12:00:30Z")
    Job.objects.filter(pk=once.pk).update(next_run_at=None, last_slot_for=NOW)

    prune_history(now=NOW + 29 * DAY)
    assert Job.objects.filter(pk__in=[deleted.pk, once.pk]).count() == 2
    prune_history(now=NOW + 31 * DAY)
    assert list(Job.objects.values_list("pk", flat=True)) == [live.pk]


def test_many_rows_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH_ROWS", 3)
    job = make_job(retention_count=0, retention_days=1)
    for _ in range(7):
        _aged(job, 40)

    with CaptureQueriesContext(connection) as queries:
        assert prune_history(now=NOW).executions == 7

    deletes = [
        query["sql"] for query in queries if query["sql"].startswith('DELETE FROM "scheduler_app_execution"')
    ]
    assert len(deletes) == 3
