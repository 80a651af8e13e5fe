"""The job form: it refuses what the services refuse, at the field, and keeps what was typed."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from scheduler_app.models import Job
from scheduler_app.services.jobs import create_job
from tests.pages.reading import text_of

GOOD = {
    "name": "Every minute",
    "task": "always_succeed",
    "schedule_type": "interval",
    "every": "60s",
    "timezone": "UTC",
}
CRON = {
    **GOOD,
    "schedule_type": "cron",
    "every": "",
    "cron": "0 9 * * 1-5",
    "timezone": "America/Los_Angeles",
}
ONCE = {**GOOD, "schedule_type": "one_time", "every": "", "run_at": "2199-01-01T09:00:00"}
BAD: list[tuple[str, dict[str, str]]] = [
    ("name", {"name": ""}),
    ("name", {"name": "   "}),
    ("name", {"name": "x" * 201}),
    ("name", {"name": "a\x00b"}),
    ("task", {"task": "not_a_real_task"}),
    ("task", {"task": ""}),
    ("schedule_type", {"schedule_type": "weekly"}),
    ("every", {"every": "0s"}),
    ("every", {"every": "-5m"}),
    ("every", {"every": "5"}),
    ("every", {"every": "1.5m"}),
    ("every", {"every": ""}),
    ("cron", {**CRON, "cron": "60 * * * *"}),
    ("cron", {**CRON, "cron": "* * * *"}),
    ("cron", {**CRON, "cron": "0 0 31 2 *"}),
    ("cron", {**CRON, "cron": "@reboot"}),
    ("cron", {**CRON, "cron": ""}),
    ("run_at", {**ONCE, "run_at": "tomorrow"}),
    ("run_at", {**ONCE, "run_at": "2026-13-01T00:00:00Z"}),
    ("run_at", {**ONCE, "run_at": "2001-01-01T00:00:00Z"}),
    ("run_at", {**ONCE, "run_at": "2199-01-01T00:00:00.500Z"}),
    ("timezone", {"timezone": "Mars/Olympus"}),
    ("timezone", {"timezone": "../../etc/passwd"}),
    ("timezone", {"timezone": ""}),
    ("max_attempts", {"max_attempts": "0"}),
    ("max_attempts", {"max_attempts": "99999999999"}),
    ("max_attempts", {"max_attempts": "9" * 40}),
    ("max_attempts", {"max_attempts": "three"}),
    ("timeout_seconds", {"timeout_seconds": "0"}),
    ("retry_backoff_seconds", {"retry_backoff_seconds": "-1"}),
    ("misfire_grace_seconds", {"misfire_grace_seconds": "-1"}),
    ("overlap_policy", {"overlap_policy": "parallel"}),
    ("misfire_policy", {"misfire_policy": "SKIP"}),
    ("alert_mode", {"alert_mode": "mail"}),
    ("labels", {"labels": "bad!label"}),
    ("starts_at", {"starts_at": "soon"}),
    ("config.seconds", {"task": "sleep_for_seconds", "config.seconds": "-1"}),
    ("config.seconds", {"task": "sleep_for_seconds", "config.seconds": "abc"}),
    ("config.filename", {"task": "write_file_artifact", "config.filename": "../up"}),
    ("config", {"config": "[1]"}),
    ("config", {"config": '{"a": NaN}'}),
]


@pytest.mark.parametrize(
    "typed", [GOOD, CRON, ONCE, {**GOOD, "every": "5s"}], ids=["60s", "cron", "once", "5s"]
)
def test_a_good_form_makes_the_job_and_leads_to_it(operator: Client, typed: dict[str, str]) -> None:
    response = operator.post("/jobs/new/", typed)

    job = Job.objects.get()
    assert response.status_code == 303 and response["Location"] == f"/jobs/{job.pk}/"
    assert job.enabled and job.next_run_at is not None
    assert "Every minute is created" in text_of(operator.get(response["Location"]))


def test_every_policy_of_the_form_arrives_at_the_job(operator: Client) -> None:
    chosen = {
        "overlap_policy": "queue",
        "queue_limit": "7",
        "misfire_policy": "catch_up",
        "misfire_grace_seconds": "5",
        "max_attempts": "4",
        "retry_backoff": "constant",
        "retry_backoff_seconds": "9",
        "retry_max_delay_seconds": "90",
        "retry_jitter": "full",
        "timeout_seconds": "11",
        "on_lost_worker": "fail",
        "alert_mode": "log_only",
        "retention_count": "12",
        "retention_days": "0",
        "priority": "-3",
        "queue": "slow",
        "description": "two\nlines",
    }

    operator.post("/jobs/new/", {**GOOD, **chosen, "labels": "a, b"})

    job = Job.objects.get()
    assert {name: str(getattr(job, name)) for name in chosen} == chosen
    assert job.labels == ["a", "b"]


def test_create_disabled_makes_a_job_that_does_not_run(operator: Client) -> None:
    operator.post("/jobs/new/", {**GOOD, "enabled": "0"})

    assert not Job.objects.get().enabled


@pytest.mark.parametrize(("field", "bad"), BAD, ids=[f"{name}-{n}" for n, (name, _) in enumerate(BAD)])
def test_a_bad_field_is_refused_where_it_stands(operator: Client, field: str, bad: dict[str, str]) -> None:
    response = operator.post("/jobs/new/", {**GOOD, "description": "kept as typed", **bad})
    page = text_of(response)
    control = f"id_{field.replace('.', '-')}"

    assert response.status_code == 422
    assert not Job.objects.exists()
    assert f'href="#{control}"' in page and f'id="{control}"' in page
    assert 'id="error-summary"' in page and "kept as typed" in page
    assert "Traceback" not in page


@pytest.mark.parametrize("field", ["name", "every", "timezone", "max_attempts"])
def test_a_refused_control_says_so_to_who_cannot_see_it(operator: Client, field: str) -> None:
    page = text_of(operator.post("/jobs/new/", {**GOOD, field: "!" * 300}))

    control = re.search(rf'<(?:input|select)[^>]* id="id_{field}"[^>]*>|<input id="id_{field}"[^>]*>', page)
    assert control and 'aria-invalid="true"' in control.group()
    assert f'aria-describedby="id_{field}-error' in control.group()
    assert f'id="id_{field}-error"' in page and "!" * 300 in page


def test_several_faults_are_told_at_once(operator: Client) -> None:
    page = text_of(
        operator.post("/jobs/new/", {**GOOD, "name": "", "max_attempts": "0", "timeout_seconds": "0"})
    )

    assert "3 things stand in the way" in page


def test_a_name_taken_by_another_job_is_refused_with_its_id(operator: Client) -> None:
    job = create_job(values=GOOD, actor="test")

    response = operator.post("/jobs/new/", {**GOOD, "name": "  every MINUTE "})

    assert response.status_code == 422
    assert f"taken by job {job.pk}" in text_of(response)
    assert Job.objects.count() == 1


def test_config_may_come_as_json_or_as_fields(operator: Client) -> None:
    operator.post("/jobs/new/", {**GOOD, "task": "sleep_for_seconds", "config": '{"seconds": 3}'})
    operator.post("/jobs/new/", {**GOOD, "name": "Two", "task": "sleep_for_seconds", "config.seconds": "2.5"})

    assert [job.config for job in Job.objects.order_by("pk")] == [{"seconds": 3}, {"seconds": 2.5}]


def test_the_edit_form_shows_what_is_stored_and_saves_what_is_typed(operator: Client) -> None:
    job = create_job(values={**CRON, "every": None}, actor="test")
    page = text_of(operator.get(f"/jobs/{job.pk}/edit/"))
    assert 'value="0 9 * * 1-5"' in page and 'value="America/Los_Angeles"' in page

    response = operator.post(f"/jobs/{job.pk}/edit/", {**CRON, "cron": "5 8 * * *", "version": "1"})

    job.refresh_from_db()
    assert response.status_code == 303
    assert job.schedule == {"expression": "5 8 * * *"} and job.version == 2


def test_an_edit_without_a_change_keeps_the_schedule_and_its_anchor(operator: Client) -> None:
    job = create_job(values=GOOD, actor="test")
    page = text_of(operator.get(f"/jobs/{job.pk}/edit/"))
    fields = dict(re.findall(r'<input id="id_\w+" name="(\w+)" value="([^"]*)"', page))

    response = operator.post(
        f"/jobs/{job.pk}/edit/", {**fields, **GOOD, "every": "1m", "version": "1", "max_attempts": "5"}
    )

    before = (job.anchor_at, job.next_run_at)
    job.refresh_from_db()
    assert response.status_code == 303 and job.max_attempts == 5
    assert (job.anchor_at, job.next_run_at) == before


def test_an_edit_of_an_older_version_is_refused_and_keeps_what_was_typed(operator: Client) -> None:
    job = create_job(values=GOOD, actor="test")
    operator.post(f"/jobs/{job.pk}/edit/", {**GOOD, "every": "2m", "version": "1"})

    response = operator.post(f"/jobs/{job.pk}/edit/", {**GOOD, "every": "3m", "version": "1"})

    assert response.status_code == 409
    assert 'value="3m"' in text_of(response) and "version 2" in text_of(response)
    assert Job.objects.get().schedule == {"every": "2m"}


def test_a_copy_begins_with_the_values_of_the_other_job(operator: Client) -> None:
    job = create_job(values={**CRON, "every": None}, actor="test")

    page = text_of(operator.get(f"/jobs/new/?from={job.pk}"))

    assert "Every minute (copy)" in page and 'value="0 9 * * 1-5"' in page


@pytest.mark.parametrize("wanted", ["999", "abc", "9" * 30, "-1"])
def test_a_copy_of_no_job_is_an_empty_form(operator: Client, wanted: str) -> None:
    assert operator.get(f"/jobs/new/?from={wanted}").status_code == 200


def test_the_preview_tells_the_schedule_in_words_and_its_next_runs(operator: Client) -> None:
    page = text_of(operator.get("/jobs/preview/", CRON))

    assert "At 09:00 on Monday to Friday, America/Los_Angeles time" in page
    assert page.count("<time") == 10


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({**CRON, "cron": "61 * * * *"}, "0 to 59"),
        ({**CRON, "timezone": "america/los_angeles"}, "America/Los_Angeles"),
        ({**GOOD, "every": "0s"}, "at least 1 second"),
        ({**GOOD, "every": ""}, "Say when it should run"),
        ({}, "Kind of schedule"),
        ({**CRON, "cron": "*" * 10_000}, "Cron expression"),
    ],
)
def test_the_preview_says_what_is_wrong(operator: Client, typed: dict[str, str], said: str) -> None:
    response = operator.get("/jobs/preview/", typed)

    assert response.status_code == 200 and said in text_of(response)


def test_the_fields_follow_the_task_and_keep_equal_names(operator: Client) -> None:
    typed = {"task": "sleep_for_seconds", "config.seconds": "77"}

    page = text_of(operator.get("/jobs/task-fields/", typed))

    assert 'name="config.seconds" value="77"' in page and "<html" not in page


def test_the_select_offers_every_registered_task_and_nothing_else(operator: Client) -> None:
    page = text_of(operator.get("/jobs/new/"))

    for name in ("always_succeed", "always_fail", "sleep_for_seconds", "generate_report"):
        assert f'<option value="{name}"' in page
