"""Disable and enable: what is cancelled, what goes on, and where a job resumes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scheduler_app.domain.states import Status
from scheduler_app.errors import Conflict, NotFound
from scheduler_app.models import Event, Execution, Job, JobVersion, Lease, MissedRange
from scheduler_app.services.jobs import disable_job, enable_job
from tests.factories import NOW, at, make_execution, make_job
from tests.services.steps import fresh, tick

pytestmark = pytest.mark.django_db


def disable(job: Job, seconds: float = 0) -> int:
    result = disable_job(job_id=job.id, actor="admin", now=at(seconds))
    job.refresh_from_db()
    return result.cancelled


def enable(job: Job, seconds: float = 0) -> Job:
    enable_job(job_id=job.id, actor="admin", now=at(seconds))
    job.refresh_from_db()
    return job


@pytest.mark.parametrize("status", list(Status))
def test_disabling_cancels_what_has_not_started_and_leaves_the_rest(status: Status) -> None:
    job = make_job()
    row = make_execution(job, status)
    reached = status in {"pending", "retry_scheduled", "claimed"}

    assert disable(job) == int(reached)

    row.refresh_from_db()
    assert row.status == ("cancelled" if reached else status)
    assert Lease.objects.filter(execution=row).exists() == (status == "running")


def test_a_row_that_waits_for_its_turn_is_cancelled_too() -> None:
    job = make_job(overlap_policy="queue")
    row = make_execution(job, "pending", held_back=True)

    assert disable(job) == 1
    assert (fresh(row).status, fresh(row).held_back) == ("cancelled", False)


def test_a_retry_that_is_not_yet_due_is_cancelled_too() -> None:
    job = make_job()
    row = make_execution(job, "retry_scheduled", available_at=at(3600))

    assert disable(job) == 1
    assert (fresh(row).status, fresh(row).claim_at) == ("cancelled", None)


def test_rows_of_other_jobs_stay() -> None:
    other = make_execution(make_job())

    assert disable(make_job()) == 0
    assert fresh(other).status == "pending"


def test_a_cancelled_row_says_who_and_when() -> None:
    job = make_job()
    row = make_execution(job)
    disable(job, 7)

    assert (fresh(row).reason, fresh(row).finished_at) == ("job disabled by admin", at(7))


def test_disabling_keeps_the_next_run() -> None:
    job = make_job()
    disable(job, 5)

    assert (job.enabled, job.next_run_at, job.state) == (False, NOW, "disabled")


def test_a_disabled_job_is_not_materialised() -> None:
    job = make_job()
    disable(job)

    assert tick(at(600)).jobs == 0
    assert not Execution.objects.exists()


def test_disabling_and_enabling_leave_a_version_and_an_event_each() -> None:
    job = make_job()
    disable(job)
    enable(job, 1)

    assert list(JobVersion.objects.order_by("version").values_list("version", "action")) == [
        (1, "create"),
        (2, "disable"),
        (3, "enable"),
    ]
    assert job.version == 3
    assert Event.objects.filter(action="job.disable").count() == 1
    assert Event.objects.filter(action="job.enable").count() == 1


def test_disabling_twice_changes_nothing_the_second_time() -> None:
    job = make_job()
    disable(job)
    disable(job)

    assert job.version == 2
    assert Event.objects.filter(action="job.disable").count() == 1


def test_enabling_an_enabled_job_changes_nothing() -> None:
    job = make_job()

    assert enable(job, 300).next_run_at == NOW
    assert job.version == 1
    assert not MissedRange.objects.exists()


def test_enabling_records_what_passed_as_one_range_and_resumes_on_the_grid() -> None:
    job = make_job(cron="*/5 * * * *", created_at=NOW - timedelta(minutes=1))
    disable(job, -30)

    enable(job, 428)

    found = MissedRange.objects.get()
    assert (found.first_slot_for, found.last_slot_for, found.count, found.reason) == (
        NOW,
        at(300),
        2,
        "disabled",
    )
    assert (job.last_slot_for, job.next_run_at) == (at(300), at(600))
    tick(at(600))
    assert Execution.objects.get().scheduled_for == at(600)


def test_enabling_before_a_slot_passed_records_nothing() -> None:
    job = make_job()
    disable(job, -20)

    assert enable(job, -10).next_run_at == NOW
    assert not MissedRange.objects.exists()


def test_a_slot_of_the_very_second_of_enabling_counts_as_passed() -> None:
    job = make_job()
    disable(job, -20)

    assert enable(job, 0).next_run_at == at(60)
    assert MissedRange.objects.get().count == 1


def test_a_year_off_is_recorded_without_unfolding_it() -> None:
    job = make_job(every="1s")
    disable(job)

    enable(job, 366 * 86_400)

    assert MissedRange.objects.get().count is None
    assert job.next_run_at == at(366 * 86_400 + 1)


def test_a_completed_one_time_job_is_not_enabled_and_the_way_out_is_named() -> None:
    job = make_job(run_at="2026-03-02T12:00:00Z")
    tick(NOW)

    with pytest.raises(Conflict, match=r"2026-03-02T12:00:00Z has passed; give it a new run_at"):
        enable(job, 60)


def test_a_one_time_job_whose_instant_passed_while_disabled_is_not_enabled() -> None:
    job = make_job(run_at="2026-03-02T12:00:00Z")
    disable(job, -10)

    with pytest.raises(Conflict, match="new run_at"):
        enable(job, 1)

    job.refresh_from_db()
    assert (job.enabled, job.version) == (False, 2)


def test_a_one_time_job_still_ahead_is_enabled() -> None:
    job = make_job(run_at="2026-03-02T13:00:00Z")
    disable(job)

    assert enable(job, 60).next_run_at == at(3600)


def test_a_job_that_is_over_is_enabled_without_a_next_run() -> None:
    job = make_job(every="1m", ends_at=at(120))
    disable(job)

    enable(job, 600)

    assert (job.next_run_at, job.state) == (None, "finished")
    assert MissedRange.objects.get().last_slot_for == at(120)


@pytest.mark.parametrize("verb", [enable_job, disable_job])
def test_a_job_that_never_was_is_not_found(verb: object) -> None:
    with pytest.raises(NotFound, match="no job 424242"):
        verb(job_id=424_242, actor="admin")  # type: ignore[operator]
