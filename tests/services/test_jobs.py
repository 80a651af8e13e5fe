"""Create and delete a job: what is stored, what is refused, what is left behind."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scheduler_app.errors import Conflict, NotFound, ValidationFailed
from scheduler_app.models import Event, Job, JobVersion
from scheduler_app.services.jobs import create_job, delete_job, edit_job
from tests.factories import NOW, at, job_values, make_execution, make_job
from tests.services.steps import fresh

pytestmark = pytest.mark.django_db

DEFAULTS = {
    "key": None,
    "description": "",
    "config": {},
    "timezone": "UTC",
    "dst_policy": "auto",
    "overlap_policy": "skip",
    "queue_limit": 1000,
    "misfire_policy": "coalesce",
    "misfire_grace_seconds": 60,
    "max_attempts": 3,
    "retry_backoff": "exponential",
    "retry_backoff_seconds": 30,
    "retry_max_delay_seconds": 3600,
    "retry_jitter": "none",
    "timeout_seconds": 300,
    "on_lost_worker": "retry",
    "alert_mode": "web",
    "retention_count": 1000,
    "retention_days": 30,
    "queue": "default",
    "priority": 0,
    "labels": [],
    "enabled": True,
    "fault": "",
    "version": 1,
    "last_slot_for": None,
    "deleted_at": None,
}


def create(**values: object) -> Job:
    return create_job(values=job_values(**values), actor="admin", now=NOW)


def test_a_new_job_has_the_documented_defaults() -> None:
    job = create()
    job.refresh_from_db()

    assert {name: getattr(job, name) for name in DEFAULTS} == DEFAULTS
    assert (job.created_at, job.updated_at) == (NOW, NOW)


def test_an_interval_job_without_an_anchor_starts_its_grid_when_it_is_made() -> None:
    job = create_job(
        values={"name": "grid", "task": "always_succeed", "schedule_type": "interval", "every": "30s"},
        actor="admin",
        now=at(0.7),
    )

    assert (job.anchor_at, job.next_run_at) == (NOW, at(30))


def test_an_anchor_in_the_past_sets_the_grid() -> None:
    assert create(every="5m", anchor_at=at(-60)).next_run_at == at(240)


def test_an_interval_may_be_given_as_an_object() -> None:
    job = create(every=None, schedule={"every": {"minutes": 5}})

    assert job.schedule == {"every": "5m"}


def test_a_cron_job_is_due_at_its_first_local_time_after_now() -> None:
    job = create(cron="0 9 * * 1-5", timezone="America/Los_Angeles")

    assert job.next_run_at == NOW.replace(hour=17)


def test_a_one_time_job_of_the_future_waits_for_its_instant() -> None:
    assert create(run_at="2026-03-02T13:00:00Z").next_run_at == at(3600)


def test_a_one_time_job_that_passed_within_its_grace_is_due_at_once() -> None:
    assert create(run_at="2026-03-02T11:59:00Z").next_run_at == at(-60)


def test_a_one_time_job_that_passed_beyond_its_grace_is_refused() -> None:
    with pytest.raises(ValidationFailed) as refused:
        create(run_at="2026-03-02T11:58:59Z")

    assert [error.field for error in refused.value.errors] == ["run_at"]
    assert not Job.objects.exists()


def test_a_longer_grace_lets_an_older_instant_in() -> None:
    job = create(run_at="2026-03-02T11:00:00Z", misfire_grace_seconds=3600)

    assert job.next_run_at == at(-3600)


def test_a_job_made_disabled_keeps_its_next_run_for_later() -> None:
    job = create(enabled=False)

    assert (job.enabled, job.next_run_at) == (False, at(60))


def test_creating_leaves_version_one_and_one_event() -> None:
    job = create(name="Nightly")

    version = JobVersion.objects.get()
    assert (version.job_id, version.version, version.action, version.before) == (job.id, 1, "create", None)
    assert (version.after["name"], version.actor, version.effective_at) == ("Nightly", "admin", NOW)
    event = Event.objects.get()
    assert (event.action, event.actor, event.object_type, event.object_id) == (
        "job.create",
        "admin",
        "job",
        job.id,
    )


@pytest.mark.parametrize("twin", ["Nightly report", "NIGHTLY REPORT", "  nightly Report  "])
def test_a_name_taken_by_a_live_recurring_job_is_refused_with_its_id(twin: str) -> None:
    first = create(name="Nightly report")

    with pytest.raises(Conflict, match=rf"taken by job {first.id}"):
        create(name=twin)

    assert Job.objects.count() == 1
    assert Event.objects.count() == 1


def test_one_time_jobs_may_share_a_name() -> None:
    create(name="once", run_at="2026-03-02T13:00:00Z")
    create(name="once", run_at="2026-03-02T14:00:00Z")
    create(name="once")

    assert Job.objects.filter(name="once").count() == 3


def test_a_name_is_free_again_after_its_job_is_deleted() -> None:
    delete_job(job_id=create(name="Nightly").id, actor="admin", now=NOW)

    assert create(name="Nightly").id


def test_a_key_is_taken_once_even_by_one_time_jobs() -> None:
    first = create(key="invoice-7", run_at="2026-03-02T13:00:00Z")

    with pytest.raises(Conflict, match=rf"key: 'invoice-7' is taken by job {first.id}"):
        create(key="invoice-7", run_at="2026-03-02T13:00:00Z")


def test_two_jobs_without_a_key_do_not_disturb_each_other() -> None:
    create(key="")
    create(key=None)

    assert list(Job.objects.values_list("key", flat=True)) == [None, None]


REFUSED = [
    ("name", ""),
    ("name", "   "),
    ("name", "x" * 201),
    ("name", "a\x00b"),
    ("name", "a\nb"),
    ("name", 7),
    ("key", "x" * 201),
    ("description", "x" * 10_001),
    ("task", "not_a_real_task"),
    ("task", None),
    ("config", []),
    ("config", "{}"),
    ("timezone", "Mars/Olympus"),
    ("timezone", ""),
    ("every", "0s"),
    ("every", "soon"),
    ("every", "500ms"),
    ("dst_policy", "never"),
    ("overlap_policy", "SKIP"),
    ("misfire_policy", "panic"),
    ("retry_backoff", "fibonacci"),
    ("retry_jitter", "some"),
    ("on_lost_worker", "cry"),
    ("alert_mode", "email"),
    ("misfire_grace_seconds", -1),
    ("misfire_grace_seconds", "60"),
    ("misfire_grace_seconds", 1.5),
    ("max_attempts", 0),
    ("max_attempts", 101),
    ("max_attempts", True),
    ("retry_backoff_seconds", -1),
    ("retry_max_delay_seconds", -1),
    ("timeout_seconds", 0),
    ("timeout_seconds", 604_801),
    ("retention_count", -1),
    ("retention_days", 3_651),
    ("queue_limit", 0),
    ("queue", "two words"),
    ("queue", ""),
    ("priority", 1_001),
    ("priority", None),
    ("labels", "one"),
    ("labels", ["ok", "not ok"]),
    ("labels", [f"label-{number}" for number in range(21)]),
    ("enabled", "yes"),
    ("starts_at", "2026-03-02 12:00"),
    ("ends_at", "tomorrow"),
    ("anchor_at", "2026-03-02T12:00:00.5Z"),
    ("favourite_colour", "blue"),
]


@pytest.mark.parametrize(("field", "value"), REFUSED)
def test_a_bad_field_is_refused_by_name_and_nothing_is_stored(field: str, value: object) -> None:
    with pytest.raises(ValidationFailed) as refused:
        create(**{field: value})

    assert [error.field for error in refused.value.errors] == [field]
    assert not Job.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize(("field", "value"), [case for case in REFUSED if case[0] != "anchor_at"])
def test_an_edit_to_a_bad_field_is_refused_by_name_and_nothing_changes(field: str, value: object) -> None:
    job = create()
    before = job.definition()

    with pytest.raises(ValidationFailed) as refused:
        edit_job(job_id=job.id, values={"description": "new", field: value}, actor="admin", now=NOW)

    assert field in [error.field for error in refused.value.errors]
    job.refresh_from_db()
    assert (job.definition(), job.version) == (before, 1)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(ValidationFailed) as refused:
        create(name="", timezone="Mars/Olympus", max_attempts=0, task="nope")

    assert {error.field for error in refused.value.errors} == {"name", "timezone", "max_attempts", "task"}


def test_two_schedules_at_once_are_refused() -> None:
    with pytest.raises(ValidationFailed, match="exactly one of run_at, every, cron"):
        create_job(
            values={**job_values(cron="* * * * *"), "every": "5m"},
            actor="admin",
            now=NOW,
        )


def test_no_schedule_at_all_is_refused() -> None:
    with pytest.raises(ValidationFailed) as refused:
        create(every=None)

    assert [error.field for error in refused.value.errors] == ["every"]


def test_a_window_without_a_run_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="no run after now"):
        create(ends_at=at(10))


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValidationFailed) as refused:
        create(starts_at=at(600), ends_at=at(600))

    assert [error.field for error in refused.value.errors] == ["ends_at"]


def test_deleting_cancels_what_waits_and_keeps_the_history() -> None:
    job = make_job()
    waiting, running, done = (make_execution(job, status) for status in ("pending", "running", "succeeded"))

    result = delete_job(job_id=job.id, actor="admin", why="no longer wanted", now=NOW)

    assert result.cancelled == 1
    assert [fresh(row).status for row in (waiting, running, done)] == ["cancelled", "running", "succeeded"]
    job.refresh_from_db()
    assert (job.deleted_at, job.enabled, job.state) == (NOW, False, "deleted")
    version = JobVersion.objects.get(version=2)
    assert (version.action, version.why) == ("delete", "no longer wanted")
    assert Event.objects.filter(action="job.delete", object_id=job.id).count() == 1


def test_a_deleted_job_frees_its_key_and_is_no_longer_found() -> None:
    job = make_job(key="invoice-7")
    delete_job(job_id=job.id, actor="admin", now=NOW)

    assert make_job(key="invoice-7").id != job.id
    with pytest.raises(NotFound, match=f"job {job.id} was deleted"):
        delete_job(job_id=job.id, actor="admin", now=NOW)


def test_a_job_that_never_was_is_not_found() -> None:
    with pytest.raises(NotFound, match="no job 999999"):
        edit_job(job_id=999_999, values={}, actor="admin", now=NOW)


def test_an_instant_of_the_window_may_carry_any_offset() -> None:
    job = create(starts_at="2026-03-03T00:00:00+09:00")

    assert job.starts_at == NOW + timedelta(hours=3)
    assert job.next_run_at == NOW + timedelta(hours=3)


def test_a_window_that_is_over_is_the_fault_of_its_end() -> None:
    with pytest.raises(ValidationFailed) as refused:
        create(ends_at="2026-01-01T00:00:00Z")

    assert [(error.field, error.code) for error in refused.value.errors] == [("ends_at", "no_run")]


def test_an_offset_of_a_day_is_refused_in_plain_words() -> None:
    with pytest.raises(ValidationFailed, match="an offset is less than 24 hours") as refused:
        create(run_at="2027-01-01T00:00:00+99:00")

    assert "timedelta" not in refused.value.message
