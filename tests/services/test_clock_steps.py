"""A database clock that steps back: jobs run in step again, made slots are not repeated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scheduler_app.models import Event, Execution, Job
from scheduler_app.services.clock_steps import realign_after_step_back
from scheduler_app.services.jobs import create_job
from scheduler_app.services.scheduling import materialise_due

pytestmark = pytest.mark.django_db

START = datetime(2026, 5, 4, 15, 0, tzinfo=UTC)


def _minutely() -> Job:
    return create_job(
        values={
            "name": "each minute",
            "task": "always_succeed",
            "schedule_type": "interval",
            "every": "1m",
            "overlap_policy": "allow",
        },
        actor="test",
        now=START,
    )


def test_a_job_that_ran_ahead_goes_on_from_now_and_repeats_no_slot() -> None:
    job = _minutely()
    ahead = START + timedelta(hours=2)
    Job.objects.update(next_run_at=ahead)
    materialise_due(now=ahead + timedelta(minutes=1))
    watermark = ahead + timedelta(minutes=1)
    assert Job.objects.get().last_slot_for == watermark

    now = ahead - timedelta(seconds=150)
    assert realign_after_step_back(now=now, step_seconds=-210) == 1

    job.refresh_from_db()
    assert job.next_run_at == ahead - timedelta(minutes=2)
    assert job.last_slot_for == watermark
    assert Event.objects.filter(action="job.clock_step", object_id=job.pk).count() == 1
    for minute in range(-2, 4):
        materialise_due(now=ahead + timedelta(minutes=minute))
    slots = sorted(Execution.objects.values_list("scheduled_for", flat=True))
    assert slots == [ahead + timedelta(minutes=minute) for minute in range(-2, 4)]
    job.refresh_from_db()
    assert job.last_slot_for == ahead + timedelta(minutes=3)


def test_slots_of_a_missed_range_stay_accounted_for() -> None:
    job = _minutely()
    ahead = START + timedelta(hours=2)
    materialise_due(now=ahead)  # coalesced: one row at 17:00, a range before it

    now = START + timedelta(minutes=2)
    realign_after_step_back(now=now, step_seconds=-7000)

    job.refresh_from_db()
    assert job.next_run_at == ahead + timedelta(minutes=1)


def test_a_job_that_did_not_run_ahead_is_left_alone() -> None:
    job = _minutely()
    before = job.next_run_at

    assert realign_after_step_back(now=START + timedelta(seconds=1), step_seconds=-10) == 0

    job.refresh_from_db()
    assert job.next_run_at == before
