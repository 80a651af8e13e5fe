"""The JSON shapes: exactly these names, these types, this spelling of instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from scheduler_app.queries.executions import attempts_of, get_execution
from scheduler_app.queries.representations import (
    attempt_dict,
    execution_dict,
    inspected_execution_dict,
    job_dict,
    milliseconds,
)
from tests.queries.rows import NOON, make_attempt, make_execution, make_job

JOB = [
    "id",
    "key",
    "name",
    "description",
    "task",
    "config",
    "schedule_type",
    "schedule",
    "timezone",
    "dst_policy",
    "starts_at",
    "ends_at",
    "anchor_at",
    "enabled",
    "overlap_policy",
    "misfire_policy",
    "misfire_grace_seconds",
    "max_attempts",
    "retry_backoff",
    "retry_backoff_seconds",
    "retry_max_delay_seconds",
    "retry_jitter",
    "timeout_seconds",
    "on_lost_worker",
    "alert_mode",
    "retention_count",
    "retention_days",
    "queue",
    "priority",
    "labels",
    "fault",
    "next_run_at",
    "version",
    "created_at",
    "updated_at",
    "deleted_at",
]
EXECUTION = [
    "id",
    "job_id",
    "job_name",
    "job_version",
    "task",
    "trigger",
    "scheduled_for",
    "available_at",
    "status",
    "reason",
    "attempts",
    "max_attempts",
    "delivery_key",
    "retry_of",
    "worker_id",
    "lease_expires_at",
    "started_at",
    "finished_at",
    "duration_ms",
    "lateness_ms",
]
ATTEMPT = [
    "number",
    "outcome",
    "worker_id",
    "started_at",
    "finished_at",
    "output",
    "error",
    "result",
    "exit_code",
    "exchange",
]

pytestmark = pytest.mark.django_db


def test_a_job_has_exactly_the_promised_names_in_order() -> None:
    assert list(job_dict(make_job())) == JOB


def test_an_execution_has_exactly_the_promised_names_in_order() -> None:
    assert list(execution_dict(make_execution(make_job()))) == EXECUTION


def test_an_inspected_execution_adds_its_attempts_oldest_first() -> None:
    execution = make_execution(make_job())
    make_attempt(execution, 2)
    make_attempt(execution, 1, "failed")

    shown: dict[str, Any] = inspected_execution_dict(execution, attempts_of(execution.pk))

    assert list(shown) == [*EXECUTION, "attempt_history"]
    assert [attempt["number"] for attempt in shown["attempt_history"]] == [1, 2]
    assert all(list(attempt) == ATTEMPT for attempt in shown["attempt_history"])


def test_instants_are_spelled_in_utc_with_whole_seconds() -> None:
    elsewhere = datetime(2026, 7, 1, 1, 30, 0, 900_000, tzinfo=timezone(timedelta(hours=2)))

    assert job_dict(make_job(next_run_at=elsewhere))["next_run_at"] == "2026-06-30T23:30:00Z"


def test_durations_are_whole_milliseconds() -> None:
    execution = make_execution(
        make_job(),
        started_at=NOON + timedelta(seconds=2, microseconds=500_900),
        finished_at=NOON + timedelta(seconds=3),
    )

    shown = execution_dict(execution)

    assert (shown["lateness_ms"], shown["duration_ms"]) == (2500, 499)


def test_what_has_not_happened_is_null() -> None:
    shown = execution_dict(get_execution(make_execution(make_job(), "pending").pk))

    missing = ("worker_id", "lease_expires_at", "started_at", "finished_at", "duration_ms", "lateness_ms")
    assert [shown[name] for name in (*missing, "retry_of")] == [None] * 7


def test_a_held_execution_names_its_worker_and_the_end_of_its_lease() -> None:
    execution = make_execution(make_job(), "running")
    make_attempt(execution, 1, "lost")

    shown = execution_dict(get_execution(execution.pk))

    assert (shown["worker_id"], shown["lease_expires_at"]) == ("worker-a", "2026-01-02T12:01:00Z")


def test_a_finished_execution_names_the_worker_of_its_last_attempt() -> None:
    execution = make_execution(make_job(), attempts=2)
    make_attempt(execution, 1, "failed", worker_id="worker-first")
    make_attempt(execution, 2, worker_id="worker-last")

    assert execution_dict(get_execution(execution.pk))["worker_id"] == "worker-last"
    assert execution_dict(execution)["worker_id"] == "worker-last"
    assert execution_dict(execution)["lease_expires_at"] is None


def test_an_attempt_without_a_worker_has_null_there() -> None:
    assert attempt_dict(make_attempt(make_execution(make_job()), worker_id=""))["worker_id"] is None


def test_milliseconds_of_an_early_end_are_negative_not_lost() -> None:
    assert milliseconds(NOON, NOON - timedelta(milliseconds=3)) == -3


def test_ids_are_whole_numbers() -> None:
    first = make_execution(make_job(), "failed")
    again = make_execution(first.job, "pending", trigger="retry", retry_of=first)

    shown = execution_dict(again)

    assert (shown["id"], shown["job_id"], shown["retry_of"]) == (again.pk, first.job_id, first.pk)
    assert NOON.tzinfo is UTC
