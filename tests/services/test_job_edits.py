"""An edit holds from now on: it settles what the old definition owes and never makes a slot of the past."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from scheduler_app.errors import Conflict, ValidationFailed
from scheduler_app.models import Event, Execution, Job, JobVersion, MissedRange
from scheduler_app.services.jobs import disable_job, edit_job
from tests.factories import NOW, at, make_execution, make_job
from tests.services.steps import tick

pytestmark = pytest.mark.django_db


def edit(job: Job, *, now: datetime = NOW, expected_version: int | None = None, **values: Any) -> Job:
    """Edit and load again."""
    edit_job(job_id=job.id, values=values, actor="admin", expected_version=expected_version, now=now)
    job.refresh_from_db()
    return job


def slots_of(job: Job) -> list[datetime]:
    return list(
        Execution.objects.filter(job=job).order_by("scheduled_for").values_list("scheduled_for", flat=True)
    )


def ranges_of(job: Job) -> list[tuple[datetime, datetime, int | None, str]]:
    return list(
        MissedRange.objects.filter(job=job)
        .order_by("id")
        .values_list("first_slot_for", "last_slot_for", "count", "reason")
    )


def test_an_edit_on_an_older_version_is_refused_and_names_both() -> None:
    job = edit(make_job(), description="first")

    with pytest.raises(Conflict, match="at version 2 by now, the edit was made on version 1"):
        edit(job, expected_version=1, description="second")

    job.refresh_from_db()
    assert (job.description, job.version) == ("first", 2)


def test_an_edit_on_the_present_version_goes_through() -> None:
    assert edit(make_job(), expected_version=1, description="new").version == 2


def test_an_edit_writes_a_version_with_both_definitions_and_one_event_with_the_difference() -> None:
    job = make_job(priority=1)

    edit_job(job_id=job.id, values={"priority": 5}, actor="admin", why="urgent", now=NOW)

    version = JobVersion.objects.get(version=2)
    assert version.before is not None
    assert (version.before["priority"], version.after["priority"]) == (1, 5)
    assert (version.action, version.actor, version.why, version.effective_at) == (
        "edit",
        "admin",
        "urgent",
        NOW,
    )
    event = Event.objects.get(action="job.edit")
    assert event.diff == {"priority": [1, 5]}


def test_an_edit_that_changes_nothing_makes_no_version() -> None:
    job = make_job(priority=1)

    assert edit(job, priority=1).version == 1
    assert JobVersion.objects.count() == 1


def test_an_edit_of_a_policy_leaves_the_next_run_where_it_was() -> None:
    job = make_job()

    assert edit(job, now=at(10), max_attempts=7).next_run_at == NOW


def test_an_edit_to_a_taken_name_is_refused_and_nothing_changes() -> None:
    first, second = make_job(name="Nightly"), make_job(name="Weekly")

    with pytest.raises(Conflict, match=f"taken by job {first.id}"):
        edit(second, name="NIGHTLY ", description="new")

    second.refresh_from_db()
    assert (second.name, second.description, second.version) == ("Weekly", "", 1)


def test_a_job_may_keep_or_respell_its_own_name() -> None:
    assert edit(make_job(name="nightly"), name="Nightly").name == "Nightly"


def test_a_new_schedule_begins_after_now_and_makes_no_slot_of_the_past() -> None:
    nine, edited_at = NOW.replace(hour=9), NOW.replace(hour=16, minute=34, second=8)
    job = make_job(cron="0 9 * * *", created_at=NOW.replace(hour=8))
    tick(nine)

    edit(job, now=edited_at, cron="34 16 * * *")
    tick(edited_at)

    assert slots_of(job) == [nine]
    assert job.next_run_at == edited_at.replace(day=3, second=0)


def test_slots_the_old_schedule_owes_get_their_rows_before_the_new_one_begins() -> None:
    job = make_job(every="1m", misfire_grace_seconds=600)

    edit(job, now=at(150), every="5m", anchor_at=NOW)

    assert slots_of(job) == [NOW, at(60), at(120)]
    assert (job.last_slot_for, job.next_run_at) == (at(120), at(300))


def test_owed_slots_are_settled_by_the_old_misfire_policy() -> None:
    job = make_job(every="1m", misfire_policy="coalesce", misfire_grace_seconds=30)

    edit(job, now=at(290), every="1h", misfire_policy="catch_up")

    assert slots_of(job) == [at(240)]
    assert ranges_of(job) == [(NOW, at(180), 4, "coalesced")]


def test_owed_slots_beyond_the_cap_share_one_range() -> None:
    job = make_job(every="1m", misfire_policy="catch_up", misfire_grace_seconds=0)

    edit(job, now=at(49 * 60 + 30), every="1h", anchor_at=NOW)

    assert slots_of(job) == [at(60 * number) for number in range(20)]
    assert ranges_of(job) == [(at(20 * 60), at(49 * 60), 30, "edited")]
    assert (job.last_slot_for, job.next_run_at) == (at(49 * 60), at(3600))


def test_owed_slots_ask_about_overlap() -> None:
    job = make_job(every="1m", overlap_policy="skip")
    make_execution(job, "running")

    edit(job, now=at(5), every="5m")

    row = Execution.objects.get(job=job, trigger="schedule")
    assert (row.status, row.scheduled_for) == ("missed", NOW)


def test_a_slot_that_has_its_row_is_not_made_again_by_an_edit_back_and_forth() -> None:
    job = make_job(every="1m")
    tick(NOW)
    edit(job, now=at(1), every="30s", anchor_at=NOW)
    edit(job, now=at(2), every="1m", anchor_at=NOW)

    tick(at(60))

    assert slots_of(job) == [NOW, at(60)]


def test_a_new_schedule_goes_on_after_the_watermark_even_when_the_clock_went_back() -> None:
    job = make_job(every="1m")
    tick(at(30))

    edit(job, now=at(-300), every="2m", anchor_at=NOW)

    assert job.next_run_at == at(120)


def test_a_new_interval_without_an_anchor_starts_its_grid_at_the_edit() -> None:
    job = edit(make_job(every="1m"), now=at(-10), every="5m")

    assert (job.anchor_at, job.next_run_at) == (at(-10), at(290))


def test_a_change_of_zone_moves_the_next_run() -> None:
    job = make_job(cron="0 9 * * *", timezone="UTC")

    assert edit(job, timezone="America/Los_Angeles").next_run_at == NOW.replace(hour=17)


def test_a_change_of_type_needs_a_schedule_of_that_type() -> None:
    job = make_job()

    with pytest.raises(ValidationFailed) as refused:
        edit(job, schedule_type="cron")

    assert "cron" in [error.field for error in refused.value.errors]


def test_a_job_may_change_its_type() -> None:
    job = edit(make_job(), now=at(-20), schedule_type="cron", cron="*/5 * * * *")

    assert (job.schedule_type, job.schedule, job.next_run_at) == ("cron", {"expression": "*/5 * * * *"}, NOW)


def test_a_schedule_edit_of_a_disabled_job_keeps_account_of_what_passed() -> None:
    job = make_job(every="1m")
    disable_job(job_id=job.id, actor="admin", now=at(-5))

    edit(job, now=at(150), every="5m", anchor_at=NOW)

    assert slots_of(job) == []
    assert ranges_of(job) == [(NOW, at(120), 3, "disabled")]
    assert (job.enabled, job.next_run_at) == (False, at(300))


def test_a_finished_one_time_job_runs_again_at_a_new_instant() -> None:
    job = make_job(run_at="2026-03-02T12:00:00Z")
    tick(NOW)
    job.refresh_from_db()
    assert job.is_completed

    edit(job, now=at(10), run_at="2026-03-02T13:00:00Z")
    tick(at(3600))

    assert slots_of(job) == [NOW, at(3600)]


def test_a_one_time_job_is_not_moved_into_the_past() -> None:
    job = make_job(run_at="2026-03-02T13:00:00Z")

    with pytest.raises(ValidationFailed) as refused:
        edit(job, run_at="2026-03-02T11:00:00Z")

    assert [error.field for error in refused.value.errors] == ["run_at"]


def test_an_edit_may_enable_or_disable_as_the_verbs_do() -> None:
    job = make_job()
    waiting = make_execution(job, "pending", slot=at(-60))

    edit(job, now=at(-5), enabled=False, description="off")
    waiting.refresh_from_db()
    assert (job.enabled, job.description, waiting.status) == (False, "off", "cancelled")

    edit(job, now=at(90), enabled=True)
    assert (job.enabled, job.next_run_at) == (True, at(120))
    assert ranges_of(job) == [(NOW, at(60), 2, "disabled")]


def test_an_edit_whose_switch_is_refused_changes_nothing() -> None:
    job = make_job(run_at="2026-03-02T12:00:00Z")
    disable_job(job_id=job.id, actor="admin", now=at(-5))

    with pytest.raises(Conflict, match="one-time job"):
        edit(job, now=at(600), enabled=True, description="on again")

    job.refresh_from_db()
    assert (job.description, job.enabled, job.version) == ("", False, 2)


def test_a_repaired_schedule_lifts_the_fault() -> None:
    job = make_job(cron="0 9 * * *")
    Job.objects.filter(id=job.id).update(schedule={"expression": "broken"}, next_run_at=NOW)
    assert tick(NOW).faults == 1

    edit(job, now=at(1), cron="0 10 * * *")

    assert (job.fault, job.state) == ("", "active")
    assert job.next_run_at == NOW.replace(day=3, hour=10)


def test_any_valid_edit_lets_the_tick_look_at_a_held_job_again() -> None:
    job = make_job()
    Job.objects.filter(id=job.id).update(fault="the database refused its rows: DataError", priority=5)

    edit_job(job_id=job.id, values={"priority": 0}, actor="ana", now=at(-10))

    job.refresh_from_db()
    assert (job.fault, job.state, job.next_run_at) == ("", "active", NOW)
