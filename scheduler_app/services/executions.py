"""Verbs on single executions: run now, retry, cancel.

`create_manual_execution` is the one way to a manual run; page, command line and API call it. Locks: job,
then execution. A run made by a person takes no slot's identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import IntegrityError, transaction

from scheduler_app.clock import database_now, whole_second
from scheduler_app.domain.delivery_key import manual_delivery_key
from scheduler_app.domain.states import CANCELLABLE, RETRYABLE_BY_OPERATOR, Status
from scheduler_app.errors import Conflict, NotFound
from scheduler_app.models import DeadLetter, Execution, Job, JobVersion, Lease
from scheduler_app.models.choices import OverlapPolicy, Trigger, WorkItemStatus
from scheduler_app.services.audit import AuditLine, record
from scheduler_app.services.jobs import lock_job
from scheduler_app.services.transactions import on_postgresql
from scheduler_app.services.transitions import (
    NewExecution,
    apply,
    ended,
    insert_executions,
    lock_rows,
    rank_of,
)
from scheduler_app.services.turns import overlap_states, promote
from scheduler_app.services.wakeups import notify_workers
from scheduler_app.tasks.registry import lane_of


def create_manual_execution(
    *, job_id: int, actor: str, trigger: str = Trigger.MANUAL.value, now: datetime | None = None
) -> Execution:
    """Queue a run of the job right now. Raises NotFound, or Conflict when the job is disabled."""
    with transaction.atomic():
        job = lock_job(job_id)
        at = now or database_now()
        if not job.enabled:
            raise Conflict(f"job {job_id} ({job.name}) is disabled; enable it before running it")
        row = _operator_row(
            job,
            definition=job.definition(),
            version=job.version,
            trigger=trigger,
            scheduled_for=whole_second(at),
            delivery_key=manual_delivery_key(),
            now=at,
        )
        [inserted] = insert_executions([row], now=at)
        line = AuditLine(actor, "job.triggered", "execution", inserted.id, job.id, f"run of {job.name} now")
        record([line], now=at)
        notify_workers()
    return Execution.objects.get(id=inserted.id)


def _operator_row(
    job: Job,
    *,
    definition: Mapping[str, object],
    version: int,
    trigger: str,
    scheduled_for: datetime,
    delivery_key: str,
    now: datetime,
    retry_of_id: int | None = None,
) -> NewExecution:
    """A row asked for by a person; it takes its turn when its job allows one run at a time."""
    exclusive = definition["overlap_policy"] != OverlapPolicy.ALLOW.value
    line_taken = exclusive and overlap_states([job.id], now=now)[job.id].line_taken
    task = str(definition["task"])
    return NewExecution(
        job_id=job.id,
        job_version=version,
        task=task,
        lane=lane_of(task),
        trigger=trigger,
        scheduled_for=scheduled_for,
        available_at=now,
        rank_at=rank_of(now, int(str(definition["priority"]))),
        max_attempts=int(str(definition["max_attempts"])),
        exclusive=exclusive,
        queue=str(definition["queue"]),
        delivery_key=delivery_key,
        held_back=line_taken,
        retry_of_id=retry_of_id,
    )


def retry_execution(
    *, execution_id: int, actor: str, as_was: bool = False, now: datetime | None = None
) -> Execution:
    """Run an execution that ended badly again: a new row with the same slot and delivery key.

    Uses the job's current definition, or with `as_was` the one the execution was made under. Its dead
    letter becomes replayed. Raises NotFound; Conflict when it is not over, succeeded, was retried already,
    or its job is disabled or deleted.
    """
    job_id = _job_of(execution_id)
    with transaction.atomic():
        job = _lock_job_for_retry(job_id, execution_id)
        at = now or database_now()
        original = _lock_execution(execution_id)
        _refuse_retry(job, original)
        definition, version = job.definition(), job.version
        if as_was and original.job_version != job.version:
            old = JobVersion.objects.get(job_id=job.id, version=original.job_version)
            definition, version = old.after, old.version
        row = _operator_row(
            job,
            definition=definition,
            version=version,
            trigger=Trigger.RETRY.value,
            scheduled_for=original.scheduled_for,
            delivery_key=original.delivery_key,
            now=at,
            retry_of_id=original.id,
        )
        new_id = _insert_retry(row, original, at)
        DeadLetter.objects.filter(execution_id=original.id, status=WorkItemStatus.OPEN).update(
            status=WorkItemStatus.REPLAYED, resolved_at=at, resolved_by=actor, replayed_as_id=new_id
        )
        summary = f"execution {original.id} runs again as {new_id}"
        record([AuditLine(actor, "execution.retried", "execution", new_id, job.id, summary)], now=at)
        notify_workers()
    return Execution.objects.get(id=new_id)


def _job_of(execution_id: int) -> int:
    job_id = Execution.objects.filter(id=execution_id).values_list("job_id", flat=True).first()
    if job_id is None:
        raise NotFound(f"no execution {execution_id}")
    return job_id


def _lock_job_for_retry(job_id: int, execution_id: int) -> Job:
    try:
        return lock_job(job_id)
    except NotFound:
        raise Conflict(f"execution {execution_id} cannot be retried: its job {job_id} was deleted") from None


def _lock_execution(execution_id: int) -> Execution:
    rows = Execution.objects.filter(id=execution_id)
    if on_postgresql():
        rows = rows.select_for_update()
    found = rows.first()
    if found is None:
        raise NotFound(f"no execution {execution_id}")
    return found


def _refuse_retry(job: Job, original: Execution) -> None:
    if Status(original.status) not in RETRYABLE_BY_OPERATOR:
        words = ", ".join(sorted(status.value for status in RETRYABLE_BY_OPERATOR))
        raise Conflict(
            f"execution {original.id} is {original.status}; only {words} executions can be retried"
        )
    retried_as = Execution.objects.filter(retry_of_id=original.id).values_list("id", flat=True).first()
    if retried_as is not None:
        raise Conflict(f"execution {original.id} was retried already, as execution {retried_as}")
    if not job.enabled:
        raise Conflict(
            f"execution {original.id} cannot be retried: job {job.id} is disabled; enable it first"
        )


def _insert_retry(row: NewExecution, original: Execution, now: datetime) -> int:
    try:
        with transaction.atomic():
            [inserted] = insert_executions([row], now=now)
    except IntegrityError:
        raise Conflict(f"execution {original.id} was retried already by somebody else") from None
    return inserted.id


def cancel_execution(*, execution_id: int, actor: str, now: datetime | None = None) -> Execution:
    """Cancel a row that waits or is claimed but not started.

    Raises NotFound; Conflict for a running row (it ends, times out or is recovered) and for a finished one.
    """
    with transaction.atomic():
        row = lock_rows([execution_id]).get(execution_id)
        if row is None:
            raise NotFound(f"no execution {execution_id}")
        at = now or database_now()
        if Status(row.status) not in CANCELLABLE:
            end = "it must finish, time out or be recovered" if row.status == Status.RUNNING else "it is over"
            raise Conflict(f"execution {execution_id} is {row.status} and cannot be cancelled: {end}")
        apply([ended(row, status=Status.CANCELLED, reason=f"cancelled by {actor}", now=at)])
        Lease.objects.filter(execution_id=execution_id).delete()
        if row.exclusive and promote([row.job_id], now=at):
            notify_workers()
        summary = f"was {row.status}"
        record([AuditLine(actor, "execution.cancelled", "execution", row.id, row.job_id, summary)], now=at)
    return Execution.objects.get(id=execution_id)
