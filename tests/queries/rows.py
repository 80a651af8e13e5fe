"""Rows for tests of the reads: only what a test names differs from the plain case."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from scheduler_app.domain.states import HELD, TERMINAL, WAITING, Status
from scheduler_app.models import Attempt, Execution, Heartbeat, Job, Lease, MissedRange

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
_number = count(1)


def make_job(**values: Any) -> Job:
    """An enabled job due each minute."""
    plain: dict[str, Any] = {
        "name": f"job {next(_number)}",
        "task": "always_succeed",
        "schedule_type": "interval",
        "schedule": {"every": "1m"},
        "anchor_at": NOON,
        "next_run_at": NOON + timedelta(days=36_500),
    }
    job = Job.objects.create(**{**plain, **values})
    job.refresh_from_db()
    return job


def make_execution(job: Job, status: str = "succeeded", *, slot: datetime = NOON, **values: Any) -> Execution:
    """A row of the job in a status, with whatever that status demands; manual, so that slots may repeat."""
    state = Status(status)
    plain: dict[str, Any] = {
        "job": job,
        "job_version": job.version,
        "task": job.task,
        "trigger": "manual",
        "scheduled_for": slot,
        "available_at": slot,
        "rank_at": slot,
        "status": status,
        "max_attempts": 3,
        "exclusive": False,
        "delivery_key": uuid.uuid4().hex,
        "claim_at": slot if state in WAITING else None,
        "claim_token": uuid.uuid4() if state in HELD else None,
        "finished_at": slot + timedelta(seconds=5) if state in TERMINAL else None,
    }
    execution = Execution.objects.create(**{**plain, **values})
    if state in HELD:
        make_lease(execution)
    return execution


def make_lease(execution: Execution, **values: Any) -> Lease:
    """The lease of a held row."""
    plain: dict[str, Any] = {
        "execution": execution,
        "job_id": execution.job_id,
        "worker": uuid.uuid4(),
        "worker_id": "worker-a",
        "fence": next(_number),
        "acquired_at": NOON,
        "lease_expires_at": NOON + timedelta(seconds=60),
        "exclusive": False,
    }
    return Lease.objects.create(**{**plain, **values})


def make_attempt(execution: Execution, number: int = 1, outcome: str = "succeeded", **values: Any) -> Attempt:
    """A finished attempt."""
    plain: dict[str, Any] = {
        "execution": execution,
        "number": number,
        "outcome": outcome,
        "worker_id": "worker-b",
        "started_at": NOON + timedelta(seconds=number),
        "finished_at": NOON + timedelta(seconds=number + 1),
        "output": f"output of attempt {number}",
    }
    return Attempt.objects.create(**{**plain, **values})


def make_missed_range(job: Job, first: datetime = NOON, *, slots: int = 1, **values: Any) -> MissedRange:
    """`slots` slots of each minute from `first` that passed while the job was disabled."""
    last = first + timedelta(minutes=slots - 1)
    plain: dict[str, Any] = {
        "job": job,
        "first_slot_for": first,
        "last_slot_for": last,
        "count": slots,
        "reason": "disabled",
        "recorded_at": last + timedelta(seconds=30),
    }
    return MissedRange.objects.create(**{**plain, **values})


def make_heartbeat(kind: str, *, alive_until: datetime, **values: Any) -> Heartbeat:
    """A process of a kind."""
    plain: dict[str, Any] = {
        "kind": kind,
        "name": f"{kind}-{next(_number)}",
        "host": "host-a",
        "pid": 4711,
        "version": "0",
        "tzdata_release": "2026f",
        "started_at": NOON,
        "beat_at": NOON,
        "alive_until": alive_until,
    }
    return Heartbeat.objects.create(**{**plain, **values})
