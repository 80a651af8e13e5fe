"""The one JSON shape of jobs, executions and attempts, the same at the command line and the API.

Instants are `YYYY-MM-DDTHH:MM:SSZ`, ids integers, durations whole milliseconds; names are appended to, never
renamed. No shape asks the database once per row when the objects come from `queries`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from scheduler_app.clock import iso
from scheduler_app.models import Attempt, Execution, Job, Lease, MissedRange

_MILLISECOND = timedelta(milliseconds=1)


def job_dict(job: Job) -> dict[str, object]:
    """A job as JSON."""
    return {
        "id": job.pk,
        "key": job.key,
        "name": job.name,
        "description": job.description,
        "task": job.task,
        "config": job.config,
        "schedule_type": job.schedule_type,
        "schedule": job.schedule,
        "timezone": job.timezone,
        "dst_policy": job.dst_policy,
        "starts_at": iso(job.starts_at),
        "ends_at": iso(job.ends_at),
        "anchor_at": iso(job.anchor_at),
        "enabled": job.enabled,
        "overlap_policy": job.overlap_policy,
        "misfire_policy": job.misfire_policy,
        "misfire_grace_seconds": job.misfire_grace_seconds,
        "max_attempts": job.max_attempts,
        "retry_backoff": job.retry_backoff,
        "retry_backoff_seconds": job.retry_backoff_seconds,
        "retry_max_delay_seconds": job.retry_max_delay_seconds,
        "retry_jitter": job.retry_jitter,
        "timeout_seconds": job.timeout_seconds,
        "on_lost_worker": job.on_lost_worker,
        "alert_mode": job.alert_mode,
        "retention_count": job.retention_count,
        "retention_days": job.retention_days,
        "queue": job.queue,
        "priority": job.priority,
        "labels": job.labels,
        "fault": job.fault,
        "next_run_at": iso(job.next_run_at),
        "version": job.version,
        "created_at": iso(job.created_at),
        "updated_at": iso(job.updated_at),
        "deleted_at": iso(job.deleted_at),
    }


def shown_job_dict(job: Job, missed: list[MissedRange]) -> dict[str, object]:
    """A job as JSON with `missed_ranges`, newest first."""
    return {**job_dict(job), "missed_ranges": [missed_range_dict(found) for found in missed]}


def missed_range_dict(found: MissedRange) -> dict[str, object]:
    """Slots that were not run, as JSON; `count` is null above 100,000."""
    return {
        "first_slot_for": iso(found.first_slot_for),
        "last_slot_for": iso(found.last_slot_for),
        "count": found.count,
        "reason": found.reason,
        "recorded_at": iso(found.recorded_at),
    }


def execution_dict(execution: Execution) -> dict[str, object]:
    """An execution as JSON, without its attempts."""
    lease = lease_of(execution)
    return {
        "id": execution.pk,
        "job_id": execution.job_id,
        "job_name": execution.job.name,
        "job_version": execution.job_version,
        "task": execution.task,
        "trigger": execution.trigger,
        "scheduled_for": iso(execution.scheduled_for),
        "available_at": iso(execution.available_at),
        "status": execution.status,
        "reason": execution.reason,
        "attempts": execution.attempts,
        "max_attempts": execution.max_attempts,
        "delivery_key": execution.delivery_key,
        "retry_of": execution.retry_of_id,
        "worker_id": lease.worker_id if lease else last_worker_of(execution),
        "lease_expires_at": iso(lease.lease_expires_at) if lease else None,
        "started_at": iso(execution.started_at),
        "finished_at": iso(execution.finished_at),
        "duration_ms": milliseconds(execution.started_at, execution.finished_at),
        "lateness_ms": milliseconds(execution.scheduled_for, execution.started_at),
    }


def inspected_execution_dict(execution: Execution, attempts: list[Attempt]) -> dict[str, object]:
    """An execution as JSON with `attempt_history`, oldest attempt first."""
    return {**execution_dict(execution), "attempt_history": [attempt_dict(attempt) for attempt in attempts]}


def attempt_dict(attempt: Attempt) -> dict[str, object]:
    """One finished attempt as JSON."""
    return {
        "number": attempt.number,
        "outcome": attempt.outcome,
        "worker_id": attempt.worker_id or None,
        "started_at": iso(attempt.started_at),
        "finished_at": iso(attempt.finished_at),
        "output": attempt.output,
        "error": attempt.error,
        "result": attempt.result,
        "exit_code": attempt.exit_code,
        "exchange": attempt.exchange,
    }


def lease_of(execution: Execution) -> Lease | None:
    """The lease while somebody holds the execution; no query for a row that is free or came with it."""
    if execution.claim_token is None:
        return None
    try:
        return execution.lease
    except Lease.DoesNotExist:
        return None


def last_worker_of(execution: Execution) -> str | None:
    """Who made the last attempt; lists bring it along as `last_worker_id`, a lone row asks for it."""
    if hasattr(execution, "last_worker_id"):
        return execution.last_worker_id or None
    if execution.attempts == 0:
        return None
    attempts = Attempt.objects.filter(execution_id=execution.pk).order_by("-number")
    return attempts.values_list("worker_id", flat=True).first() or None


def milliseconds(start: datetime | None, end: datetime | None) -> int | None:
    """Whole milliseconds from `start` to `end`; None while one of them is missing."""
    return None if start is None or end is None else (end - start) // _MILLISECOND
