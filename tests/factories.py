"""Jobs, executions and processes for tests: small plain functions; only what a test names differs."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from scheduler_app.domain.states import HELD, TERMINAL, WAITING, Status
from scheduler_app.models import Execution, Job, Lease
from scheduler_app.services.heartbeats import Identity, announce
from scheduler_app.services.jobs import create_job
from scheduler_app.tasks.registry import task_names

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
CREATED_AT = NOW - timedelta(seconds=30)
_number = count(1)


def at(seconds: float) -> datetime:
    """The instant that many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


def job_values(**values: Any) -> dict[str, Any]:
    """What a door would hand over for a job due each whole minute."""
    plain: dict[str, Any] = {
        "name": f"job {next(_number)}",
        "task": "always_succeed",
        "schedule_type": "interval",
        "every": "1m",
        "anchor_at": NOW - timedelta(days=1),
    }
    if "cron" in values or "run_at" in values:
        plain["schedule_type"] = "cron" if "cron" in values else "one_time"
        del plain["every"], plain["anchor_at"]
    return {**plain, **values}


def make_job(*, created_at: datetime = CREATED_AT, **values: Any) -> Job:
    """A job made by the service; unless told otherwise its first slot is NOW and it may overlap itself."""
    job = create_job(
        values=job_values(**{"overlap_policy": "allow", **values}), actor="tester", now=created_at
    )
    job.refresh_from_db()
    return job


def make_worker(name: str = "worker-a", *, now: datetime = NOW, **values: Any) -> Identity:
    """A worker process that shows signs of life."""
    known = {"tasks": tuple(task_names()), "slots": 4, **values}
    identity = Identity(kind="worker", name=name, **known)
    announce(identity=identity, now=now)
    return identity


def make_execution(
    job: Job, status: str = "pending", *, slot: datetime = NOW, holder: Identity | None = None, **values: Any
) -> Execution:
    """A row of the job as it would stand in that status; a held row gets a lease of `holder`."""
    state = Status(status)
    held_back = values.get("held_back", False)
    available_at = values.get("available_at", slot)
    plain: dict[str, Any] = {
        "job": job,
        "job_version": job.version,
        "task": job.task,
        "trigger": "manual",
        "scheduled_for": slot,
        "available_at": available_at,
        "rank_at": available_at,
        "claim_at": available_at if state in WAITING and not held_back else None,
        "status": status,
        "attempts": 0 if state in (Status.PENDING, Status.CLAIMED, Status.MISSED) else 1,
        "max_attempts": job.max_attempts,
        "exclusive": job.is_exclusive,
        "queue": job.queue,
        "delivery_key": uuid.uuid4().hex,
        "claim_token": uuid.uuid4() if state in HELD else None,
        "started_at": slot if state == Status.RUNNING else None,
        "finished_at": slot + timedelta(seconds=5) if state in TERMINAL else None,
    }
    execution = Execution.objects.create(**{**plain, **values})
    if state in HELD:
        make_lease(execution, holder or Identity(kind="worker", name="worker-gone"))
    return execution


def make_lease(execution: Execution, holder: Identity, *, seconds: float = 330) -> Lease:
    """The right of `holder` to run the execution, from its slot on."""
    return Lease.objects.create(
        execution=execution,
        job_id=execution.job_id,
        worker=holder.incarnation,
        worker_id=holder.name,
        fence=next(_number),
        acquired_at=execution.scheduled_for,
        lease_expires_at=execution.scheduled_for + timedelta(seconds=seconds),
        exclusive=execution.exclusive,
    )
