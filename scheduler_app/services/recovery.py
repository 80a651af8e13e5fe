"""Recover: take back what dead or silent workers hold, each lost attempt exactly once.

A lease is lost when its own end passed or its worker's alive window did. Executions are locked in id order
with SKIP LOCKED, then the lease is looked at again: a completion that came first wins, and one that comes
later finds another token. Also fails rows whose task no live worker has known for UNKNOWN_TASK_SECONDS.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from scheduler_app import events
from scheduler_app.conf import conf
from scheduler_app.domain.retry import RetryRule
from scheduler_app.domain.states import WAITING, Status
from scheduler_app.domain.verdict import Standing, Verdict, judge_lost_attempt, judge_lost_claim
from scheduler_app.models import Attempt, Execution, Heartbeat, Job, JobVersion, Lease
from scheduler_app.models.choices import AttemptOutcome
from scheduler_app.services.audit import SYSTEM, AuditLine, record
from scheduler_app.services.completion import EndedRow, change_by_verdict, settle_ended
from scheduler_app.services.heartbeats import live_workers
from scheduler_app.services.transactions import daemon_transaction
from scheduler_app.services.transitions import RowState, apply, ended, lock_rows

BATCH_LEASES = 200


def recover_lost_leases(*, now: datetime, limit: int = BATCH_LEASES) -> int:
    """One batch; returns how many executions were taken back. Call again while it returns `limit`."""
    with daemon_transaction():
        ids = list(_lost_leases(now).order_by("execution_id").values_list("execution_id", flat=True)[:limit])
        rows = lock_rows(ids, skip_locked=True)
        leases = {
            lease.execution_id: lease for lease in _lost_leases(now).filter(execution_id__in=list(rows))
        }
        policies = _policies(leases)
        endings = [_take_back(rows[key], lease, policies[key], now) for key, lease in leases.items()]
        done = [ending for ending in endings if ending is not None]
        settle_ended(done, actor=SYSTEM, now=now)
        record([_line(ending, leases[ending.row.id]) for ending in done], now=now)
    return len(done)


def _lost_leases(now: datetime) -> QuerySet[Lease]:
    alive = Heartbeat.objects.filter(incarnation=OuterRef("worker"), alive_until__gt=now)
    return Lease.objects.filter(Q(lease_expires_at__lte=now) | ~Exists(alive))


@dataclass(frozen=True, slots=True)
class _Policy:
    """What of a definition matters when its run is lost."""

    job_name: str
    on_lost_worker: str
    alert_mode: str


def _policies(execution_ids: Collection[int]) -> dict[int, _Policy]:
    """By execution: the policy of the version the row was made under, as for a run that ends by itself."""
    rows = Execution.objects.filter(id__in=list(execution_ids)).select_related("job")
    versions = JobVersion.objects.filter(job_id__in={row.job_id for row in rows})
    versions = versions.filter(version__in={row.job_version for row in rows})
    older = {(version.job_id, version.version): version.after for version in versions}
    policies = {}
    for row in rows:
        definition = older.get((row.job_id, row.job_version), {})
        policies[row.id] = _Policy(
            row.job.name,
            definition.get("on_lost_worker", row.job.on_lost_worker),
            definition.get("alert_mode", row.job.alert_mode),
        )
    return policies


def _take_back(row: RowState, lease: Lease, policy: _Policy, now: datetime) -> EndedRow | None:
    """Move one row; None when somebody moved it first."""
    losses = row.losses
    if row.status == Status.CLAIMED:
        losses += 1
        verdict = judge_lost_claim(losses=losses)
    elif row.status == Status.RUNNING:
        verdict = _verdict_on_running(row, lease, policy, now)
    else:
        return None
    if row.id not in apply([change_by_verdict(row, verdict, now=now, losses=losses)]):
        return None
    if row.status == Status.RUNNING:
        _write_lost_attempt(row, lease, now)
    transaction.on_commit(
        lambda: events.emit(
            "execution.recovered", execution_id=row.id, job_id=row.job_id, worker_id=lease.worker_id
        ),
        robust=True,
    )
    return EndedRow(row, verdict, policy.job_name, policy.alert_mode)


def _verdict_on_running(row: RowState, lease: Lease, policy: _Policy, now: datetime) -> Verdict:
    over = "its lease ran out" if lease.lease_expires_at <= now else "its worker stopped answering"
    standing = Standing(row.attempts, row.max_attempts, policy.on_lost_worker, RetryRule())
    return judge_lost_attempt(standing, detail=f"worker {lease.worker_id} lost: {over}")


def _write_lost_attempt(row: RowState, lease: Lease, now: datetime) -> None:
    Attempt.objects.create(
        execution_id=row.id,
        number=row.attempts,
        outcome=AttemptOutcome.LOST,
        worker=lease.worker,
        worker_id=lease.worker_id,
        fence=lease.fence,
        started_at=row.started_at or lease.acquired_at,
        finished_at=now,
        error=f"Worker {lease.worker_id} was lost; what the attempt did outside is unknown.",
    )


def _line(ending: EndedRow, lease: Lease) -> AuditLine:
    row = ending.row
    return AuditLine(
        SYSTEM,
        "execution.recovered",
        "execution",
        row.id,
        row.job_id,
        f"from worker {lease.worker_id}: {row.status} to {ending.verdict.status}; {ending.verdict.reason}",
    )


def fail_unknown_tasks(*, now: datetime, limit: int = BATCH_LEASES) -> int:
    """Fail waiting rows whose task no worker knows, once workers have been up long enough to say so.

    Nothing fails while no worker has been alive for UNKNOWN_TASK_SECONDS: absence of workers is no evidence.
    """
    patience = timedelta(seconds=conf().unknown_task_seconds)
    workers = live_workers(now=now)
    if not any(worker.started_at <= now - patience for worker in workers):
        return 0
    known = {task for worker in workers for task in worker.tasks}
    with daemon_transaction():
        stale = (
            Execution.objects.filter(claim_at__isnull=False, claim_at__lte=now - patience)
            .exclude(task__in=known)
            .order_by("id")
            .values_list("id", flat=True)[:limit]
        )
        rows = lock_rows(stale, skip_locked=True)
        due = [row for row in rows.values() if Status(row.status) in WAITING and not row.held_back]
        tasks = dict(Execution.objects.filter(id__in=list(rows)).values_list("id", "task"))
        jobs = Job.objects.in_bulk({row.job_id for row in due})
        endings = [_unknown(row, tasks[row.id], jobs[row.job_id], now) for row in due]
        settle_ended(endings, actor=SYSTEM, now=now)
    return len(endings)


def _unknown(row: RowState, task: str, job: Job, now: datetime) -> EndedRow:
    reason = (
        f"unknown_task: no live worker has known {task!r} for {conf().unknown_task_seconds} s; "
        "load its module in a worker or edit the job"
    )
    apply([ended(row, status=Status.FAILED, reason=reason, now=now)])
    return EndedRow(row, Verdict(Status.FAILED, reason, dead_letter=True), job.name, job.alert_mode)
