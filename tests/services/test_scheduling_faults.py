"""A job that cannot be materialised is held with a reason; it stops neither the tick nor the other jobs."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from scheduler_app.models import Alert, Event, Execution, Job, MissedRange
from scheduler_app.services.jobs import disable_job, edit_job, enable_job
from scheduler_app.services.scheduling import next_due_at, review_held_jobs
from tests.factories import NOW, at, make_job
from tests.services.steps import tick

pytestmark = pytest.mark.django_db


def damage(job: Job, **columns: Any) -> Job:
    """Columns as only somebody with SQL can set them."""
    Job.objects.filter(id=job.id).update(**columns)
    return job


def good_jobs(count: int = 3) -> list[int]:
    return [make_job().id for _ in range(count)]


def rows() -> set[int]:
    return set(Execution.objects.values_list("job_id", flat=True))


DAMAGES: list[dict[str, Any]] = [
    {"schedule": {"every": "soon"}},
    {"schedule": {}},
    {"schedule": []},
    {"schedule": "5m"},
    {"schedule": {"every": {"minutes": {"of": "what"}}}},
    {"timezone": "Mars/Olympus"},
    {"schedule_type": "cron", "schedule": {"expression": "61 * * * *"}},
    {"schedule_type": "cron", "schedule": {"expression": None}},
    {"schedule_type": "one_time", "schedule": {"run_at": "yesterday"}},
    {"dst_policy": "wall_clock", "schedule_type": "cron", "schedule": {}},
    {"priority": 2_147_483_647},
]


@pytest.mark.parametrize("columns", DAMAGES, ids=str)
def test_a_damaged_job_is_held_while_the_others_go_on(columns: dict[str, Any]) -> None:
    before = good_jobs()
    job = damage(make_job(), **columns)
    after = good_jobs()

    result = tick(NOW)

    assert rows() == {*before, *after}
    assert (result.faults, result.rows) == (1, 6)
    job.refresh_from_db()
    assert job.fault
    assert job.next_run_at == NOW
    assert job.state == "fault"


def test_a_held_job_raises_one_alert_and_one_event_that_name_it() -> None:
    job = damage(make_job(name="Nightly"), timezone="Mars/Olympus")

    tick(NOW)
    tick(at(60))

    alert = Alert.objects.get()
    assert (alert.kind, alert.key, alert.job_id, alert.count) == (
        "job_fault",
        f"job_fault:{job.id}",
        job.id,
        1,
    )
    assert f"Job {job.id} (Nightly) is held" in alert.message
    assert "Mars/Olympus" in alert.message
    assert Event.objects.filter(action="job.fault", object_id=job.id).count() == 1


def test_a_held_job_that_only_logs_makes_no_alert_row() -> None:
    damage(make_job(alert_mode="log_only"), timezone="Mars/Olympus")

    assert tick(NOW).faults == 1
    assert not Alert.objects.exists()


def test_a_held_job_is_not_due_any_more() -> None:
    damage(make_job(), schedule={})
    tick(NOW)

    assert next_due_at() is None
    assert tick(at(60)).jobs == 0


def test_a_held_job_that_computes_again_goes_back_to_the_tick() -> None:
    job = damage(make_job(), timezone="Mars/Olympus")
    tick(NOW)
    assert review_held_jobs(now=at(10)) == 0

    damage(job, timezone="UTC")

    assert review_held_jobs(now=at(20)) == 1
    assert tick(at(20)).rows == 1
    assert Event.objects.filter(action="job.fault_cleared", object_id=job.id).count() == 1


@pytest.mark.parametrize("columns", DAMAGES, ids=str)
def test_a_held_job_stays_held_while_its_damage_lasts(columns: dict[str, Any]) -> None:
    job = damage(make_job(), **columns)
    tick(NOW)

    assert review_held_jobs(now=at(60)) == 0
    job.refresh_from_db()
    assert job.fault


def refuse_rows_of(job: Job) -> None:
    """Let the database refuse the rows of one job, as a broken constraint or trigger would."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "CREATE FUNCTION refuse_rows() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation'; END $$"
            )
            cursor.execute(
                "CREATE TRIGGER refuse_rows BEFORE INSERT ON scheduler_app_execution FOR EACH ROW"
                f" WHEN (NEW.job_id = {job.id}) EXECUTE FUNCTION refuse_rows()"
            )
        else:
            cursor.execute(
                "CREATE TRIGGER refuse_rows BEFORE INSERT ON scheduler_app_execution"
                f" WHEN NEW.job_id = {job.id} BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )


def test_a_batch_the_database_refuses_is_split_until_the_bad_job_stands_alone() -> None:
    before = good_jobs()
    job = make_job()
    after = good_jobs()
    refuse_rows_of(job)

    result = tick(NOW)

    assert (result.jobs, result.rows, result.faults) == (7, 6, 1)
    assert rows() == {*before, *after}
    job.refresh_from_db()
    assert job.fault.startswith("the database refused its rows")
    assert (job.next_run_at, job.last_slot_for) == (NOW, None)
    assert Alert.objects.get().job_id == job.id


def test_a_job_the_database_refused_waits_for_a_person() -> None:
    job = make_job()
    refuse_rows_of(job)
    tick(NOW)

    assert review_held_jobs(now=at(60)) == 0
    job.refresh_from_db()
    assert job.fault


def refuse_pointer_of(job: Job) -> None:
    """Let the database refuse to move one job on, after its rows went in."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "CREATE FUNCTION refuse_pointer() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation'; END $$"
            )
            cursor.execute(
                "CREATE TRIGGER refuse_pointer BEFORE UPDATE OF next_run_at ON scheduler_app_job FOR EACH ROW"
                f" WHEN (NEW.id = {job.id}) EXECUTE FUNCTION refuse_pointer()"
            )
        else:
            cursor.execute(
                "CREATE TRIGGER refuse_pointer BEFORE UPDATE OF next_run_at ON scheduler_app_job"
                f" WHEN NEW.id = {job.id} BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )


def test_rows_ranges_and_pointer_stand_or_fall_together() -> None:
    job = make_job(misfire_policy="coalesce")
    others = good_jobs()
    refuse_pointer_of(job)

    result = tick(at(300))

    assert (result.rows, result.faults) == (3, 1)
    assert rows() == set(others)
    assert not MissedRange.objects.filter(job=job).exists()
    job.refresh_from_db()
    assert (job.next_run_at, job.last_slot_for) == (NOW, None)


@pytest.mark.parametrize("way_out", ["switch off and on", "new schedule"])
def test_slots_that_passed_while_a_job_was_held_are_on_record(way_out: str) -> None:
    job = make_job()
    refuse_rows_of(job)
    tick(NOW)

    if way_out == "new schedule":
        edit_job(job_id=job.id, values={"every": "5m", "anchor_at": NOW}, actor="admin", now=at(150))
    else:
        disable_job(job_id=job.id, actor="admin", now=at(140))
        enable_job(job_id=job.id, actor="admin", now=at(150))

    found = MissedRange.objects.get()
    assert (found.first_slot_for, found.last_slot_for, found.reason) == (NOW, at(120), "fault")
    job.refresh_from_db()
    assert (job.fault, job.last_slot_for) == ("", at(120))
