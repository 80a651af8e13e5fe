"""Reading jobs: live ones newest first, by state and name, and the runs a schedule makes next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.domain.zones import load_zone
from scheduler_app.errors import NotFound, ScheduleError, ValidationFailed
from scheduler_app.models import Job
from scheduler_app.queries.jobs import STATES, describe_schedule, get_job, list_jobs, local_text, upcoming
from scheduler_app.queries.representations import job_dict
from tests.queries.rows import NOON, make_job

pytestmark = pytest.mark.django_db


def _names(**arguments: Any) -> list[str]:
    return [job.name for job in list_jobs(limit=50, **arguments).items]


def _one_of_each() -> dict[str, Job]:
    return {
        "active": make_job(name="active"),
        "finished": make_job(name="finished", next_run_at=None),
        "fault": make_job(name="fault", fault="broken"),
        "disabled": make_job(name="disabled", enabled=False, fault="broken"),
        "deleted": make_job(name="deleted", enabled=False, deleted_at=NOON),
    }


def test_pages_hold_every_live_job_once_newest_first() -> None:
    made = [make_job().pk for _ in range(5)]
    first = list_jobs(limit=3)
    second = list_jobs(limit=3, cursor=first.next)

    assert [job.pk for job in first.items + second.items] == made[::-1]
    assert second.next is None


@pytest.mark.parametrize("state", sorted(STATES))
def test_a_state_selects_the_jobs_that_say_so_themselves(state: str) -> None:
    jobs = _one_of_each()

    assert _names(state=state) == [state]
    assert jobs[state].state == state


def test_without_a_state_deleted_jobs_are_not_listed() -> None:
    _one_of_each()

    assert _names() == ["disabled", "fault", "finished", "active"]


def test_a_search_finds_a_part_of_the_name_in_any_case_and_takes_signs_as_they_are() -> None:
    make_job(name="Daily 100% report")
    make_job(name="Daily 1000 report")

    assert _names(search=" daily ") == ["Daily 1000 report", "Daily 100% report"]
    assert _names(search="100%") == ["Daily 100% report"]
    assert _names(search="\x00") == []
    assert _names(search="\udcff") == []


def test_a_task_selects_its_jobs() -> None:
    make_job(name="fails", task="always_fail")
    make_job()

    assert _names(task="always_fail") == ["fails"]


def test_an_unknown_state_is_refused_with_the_words() -> None:
    with pytest.raises(ValidationFailed, match="active") as refused:
        list_jobs(limit=5, state="nonsense")

    assert refused.value.errors[0].field == "state"


@pytest.mark.parametrize("job_id", [999_999, 2**63, 10**30])
def test_an_unknown_job_is_not_found_by_its_number(job_id: int) -> None:
    with pytest.raises(NotFound, match=f"no job {job_id}"):
        get_job(job_id)


def test_a_deleted_job_can_still_be_read() -> None:
    assert get_job(make_job(deleted_at=NOON).pk).deleted_at == NOON


def _queries_of_a_page(rows: int) -> int:
    Job.objects.all().delete()
    for _ in range(rows):
        make_job()
    with CaptureQueriesContext(connection) as captured:
        shown = [(job_dict(job), describe_schedule(job)) for job in list_jobs(limit=50).items]
    assert len(shown) == rows
    return len(captured)


def test_fifty_jobs_cost_as_many_queries_as_five() -> None:
    assert _queries_of_a_page(5) == _queries_of_a_page(50) == 1


def test_upcoming_runs_are_the_slots_after_now_with_local_time_and_note() -> None:
    job = make_job(
        schedule_type="cron",
        schedule={"expression": "30 2 * * *"},
        timezone="America/New_York",
        anchor_at=None,
    )

    runs = upcoming(job, datetime(2026, 3, 7, 12, tzinfo=UTC), 2)

    assert [(at.isoformat(), local) for at, local, _ in runs] == [
        ("2026-03-08T07:00:00+00:00", "2026-03-08 03:00:00 -04:00 EDT"),
        ("2026-03-09T06:30:00+00:00", "2026-03-09 02:30:00 -04:00 EDT"),
    ]
    assert [note for _, _, note in runs] == ["after gap (02:30 does not exist)", ""]


def test_upcoming_runs_leave_out_slots_already_accounted_for() -> None:
    job = make_job(last_slot_for=NOON + timedelta(minutes=10))

    assert upcoming(job, NOON, 1)[0][0] == NOON + timedelta(minutes=11)


def test_a_schedule_that_ends_gives_fewer_runs_than_asked() -> None:
    job = make_job(ends_at=NOON + timedelta(minutes=2))

    assert len(upcoming(job, NOON, 50)) == 2


def test_a_deleted_job_has_no_upcoming_runs() -> None:
    assert upcoming(make_job(deleted_at=NOON), NOON, 5) == []


def test_a_broken_stored_schedule_is_told_and_stops_no_listing() -> None:
    job = make_job(schedule_type="cron", schedule={"expression": "garbage"}, timezone="Mars/Phobos")

    assert describe_schedule(job).startswith("broken: ")
    assert _names() == [job.name]
    with pytest.raises(ScheduleError):
        upcoming(job, NOON, 1)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2026-01-02 12:00:00 +00:00 UTC"),
        ("Asia/Kathmandu", "2026-01-02 17:45:00 +05:45"),
        ("America/New_York", "2026-01-02 07:00:00 -05:00 EST"),
    ],
)
def test_local_time_shows_its_offset_and_its_letters_where_there_are_any(zone: str, expected: str) -> None:
    assert local_text(NOON, load_zone(zone)) == expected


@pytest.mark.django_db
def test_a_search_longer_than_a_name_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="at most 200 characters, got 100,000"):
        list_jobs(limit=5, search="x" * 100_000)
