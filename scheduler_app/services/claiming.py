"""Claim: take due rows for one worker, each with a lease, in rank order.

Rows are picked FOR UPDATE SKIP LOCKED; leases go in ordered by job, so that two claims never wait for each
other crosswise; the unique index on exclusive leases refuses a second run of a job, and the refused row is
held back until its turn. A picked row starts only if its lease went in. SQLite has one writer at a time, so
there the same steps need no row locks.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Min, Q

from scheduler_app.conf import conf
from scheduler_app.domain.retry import RetryRule
from scheduler_app.domain.states import Status
from scheduler_app.models import Execution, FenceCounter, Heartbeat, Job, JobVersion, Lease, Pause
from scheduler_app.services.heartbeats import Identity
from scheduler_app.services.transactions import fetch_all, on_postgresql
from scheduler_app.services.transitions import (
    RowState,
    apply,
    ended,
    hold_back,
    lock_rows,
    row_state,
    running,
)
from scheduler_app.services.turns import promote

CLEANUP_ROWS = 100


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a worker asks for: how many rows of which lane, for which tasks and queues (empty = all)."""

    lane: str
    limit: int
    tasks: tuple[str, ...]
    queues: tuple[str, ...] = ()
    rank_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """One execution held by this worker, with everything needed to run it and to judge its end."""

    row: RowState
    task: str
    config: dict[str, Any]
    scheduled_for: datetime
    delivery_key: str
    job_name: str
    job_version: int
    timeout_seconds: int
    on_lost_worker: str
    alert_mode: str
    retry_rule: RetryRule
    fence: int
    lease_expires_at: datetime

    @property
    def token(self) -> uuid.UUID:
        """The fence of every later write."""
        assert self.row.claim_token is not None
        return self.row.claim_token


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """Rows started now, and how many were picked (more when some had to wait for their turn)."""

    claimed: list[Claimed]
    picked: int


# Definition fields a run needs; a row made under an older version takes them from that version.
_DEFINITION = (
    "config",
    "timeout_seconds",
    "on_lost_worker",
    "alert_mode",
    "retry_backoff",
    "retry_backoff_seconds",
    "retry_max_delay_seconds",
    "retry_jitter",
)


def claim_and_start(*, request: ClaimRequest, identity: Identity, now: datetime) -> ClaimResult:
    """Claim up to `limit` due rows and start them (attempts + 1, a new token) in the open transaction.

    Nothing is claimed for an incarnation whose sign of life has lapsed: a process that stood still between
    its last look at the clock and this statement would only take rows to lose them.
    """
    if request.limit < 1 or not request.tasks:
        return ClaimResult([], 0)
    if on_postgresql():
        picked = _pick_postgresql(request, identity, now)
    else:
        picked = _pick_sqlite(request, identity, now)
    hold_back([pick.row.id for pick in picked if pick.lease is None])
    granted = [pick for pick in picked if pick.lease is not None]
    starts = [running(pick.row, token=uuid.uuid4(), now=now) for pick in granted]
    changed = apply(starts)
    older = _older_definitions(granted)
    granted = [_with_lease_of_version(pick, older, now) for pick in granted]
    claimed = [
        _claimed(pick, start.after, older)
        for pick, start in zip(granted, starts, strict=True)
        if start.before.id in changed
    ]
    return ClaimResult(claimed, len(picked))


@dataclass(frozen=True, slots=True)
class _Pick:
    row: RowState
    task: str
    scheduled_for: datetime
    delivery_key: str
    job_version: int
    current_version: int
    job_name: str
    definition: Mapping[str, Any]
    lease: tuple[int, datetime] | None


_PICK_COLUMNS = (
    "e.id, e.job_id, e.exclusive, e.status, e.claim_token, e.reason, e.available_at, e.claim_at, e.held_back,"
    " e.rank_at, e.attempts, e.max_attempts, e.losses, e.started_at, e.finished_at,"
    " e.task, e.scheduled_for, e.delivery_key, e.job_version, j.version, j.name"
)
_ROW_COLUMNS = 15
_PICK_POSTGRESQL = """
WITH picked AS MATERIALIZED (
  SELECT {columns}, {definition}
  FROM scheduler_app_execution e JOIN scheduler_app_job j ON j.id = e.job_id
  WHERE e.claim_at IS NOT NULL AND e.claim_at <= %(now)s AND e.lane = %(lane)s {rank} {queue}
    AND e.task = ANY(%(tasks)s) AND j.enabled AND j.deleted_at IS NULL
    AND EXISTS (SELECT 1 FROM scheduler_app_heartbeat own
      WHERE own.incarnation = %(worker)s AND own.alive_until > %(now)s)
    AND NOT EXISTS (SELECT 1 FROM scheduler_app_pause p WHERE (p.until IS NULL OR p.until > %(now)s)
      AND (p.scope = 'all' OR (p.scope = 'queue' AND p.value = e.queue)
           OR (p.scope = 'job' AND p.value = e.job_id::text)
           OR (p.scope = 'label' AND j.labels ? p.value)))
  ORDER BY e.rank_at, e.claim_at, e.id LIMIT %(limit)s FOR UPDATE OF e SKIP LOCKED),
leased AS (
  INSERT INTO scheduler_app_lease
    (execution_id, job_id, worker, worker_id, fence, acquired_at, lease_expires_at, exclusive)
  SELECT p.id, p.job_id, %(worker)s, %(worker_id)s, nextval('scheduler_app_fence'), %(now)s,
    %(now)s + make_interval(secs => GREATEST(%(lease)s, p.timeout_seconds::bigint + %(buffer)s)), p.exclusive
  FROM picked p
  WHERE NOT (p.exclusive AND EXISTS (
    SELECT 1 FROM scheduler_app_lease held WHERE held.job_id = p.job_id AND held.exclusive))
  ORDER BY p.job_id, p.rank_at, p.id
  ON CONFLICT DO NOTHING RETURNING execution_id, fence, lease_expires_at)
SELECT p.*, l.fence, l.lease_expires_at FROM picked p LEFT JOIN leased l ON l.execution_id = p.id
ORDER BY p.rank_at, p.claim_at, p.id
"""


def _pick_postgresql(request: ClaimRequest, identity: Identity, now: datetime) -> list[_Pick]:
    queue = {0: "", 1: "AND e.queue = %(queue)s"}.get(len(request.queues), "AND e.queue = ANY(%(queues)s)")
    statement = _PICK_POSTGRESQL.format(
        columns=_PICK_COLUMNS.replace(" j.name", " j.name AS job_name").replace(
            "j.version", "j.version AS current_version"
        ),
        definition=", ".join(f"j.{name}" for name in _DEFINITION),
        rank="" if request.rank_from is None else "AND e.rank_at >= %(rank_from)s",
        queue=queue,
    )
    parameters = {
        "now": now,
        "lane": request.lane,
        "limit": request.limit,
        "tasks": list(request.tasks),
        "queues": list(request.queues),
        "queue": request.queues[0] if request.queues else None,
        "rank_from": request.rank_from,
        "worker": identity.incarnation,
        "worker_id": identity.name,
        "lease": conf().lease_seconds,
        "buffer": conf().lease_buffer_seconds,
    }
    return [_pick_of_tuple(found) for found in fetch_all(statement, parameters)]


def _pick_of_tuple(found: tuple[Any, ...]) -> _Pick:
    state = RowState(*found[:_ROW_COLUMNS])
    task, scheduled_for, delivery_key, job_version, current_version, job_name = found[
        _ROW_COLUMNS : _ROW_COLUMNS + 6
    ]
    definition = dict(zip(_DEFINITION, found[_ROW_COLUMNS + 6 : -2], strict=True))
    definition["config"] = json.loads(definition["config"])
    fence, lease_expires_at = found[-2:]
    lease = None if fence is None else (fence, lease_expires_at)
    return _Pick(
        state, task, scheduled_for, delivery_key, job_version, current_version, job_name, definition, lease
    )


def _pick_sqlite(request: ClaimRequest, identity: Identity, now: datetime) -> list[_Pick]:
    if not Heartbeat.objects.filter(incarnation=identity.incarnation, alive_until__gt=now).exists():
        return []
    due = Execution.objects.filter(
        claim_at__isnull=False,
        claim_at__lte=now,
        lane=request.lane,
        task__in=request.tasks,
        job__enabled=True,
        job__deleted_at__isnull=True,
    )
    if request.queues:
        due = due.filter(queue__in=request.queues)
    pauses = list(Pause.objects.filter(Q(until__isnull=True) | Q(until__gt=now)))
    if any(pause.scope == "all" for pause in pauses):
        return []
    due = due.exclude(queue__in=[pause.value for pause in pauses if pause.scope == "queue"])
    due = due.exclude(job_id__in=_paused_jobs(pauses))
    rows = due.select_related("job").order_by("rank_at", "claim_at", "id")[: request.limit]
    return [_pick_of_row(row, _lease_sqlite(row, identity, now)) for row in rows]


def _paused_jobs(pauses: Sequence[Pause]) -> list[int]:
    """Ids of jobs held by name or by label; SQLite cannot ask for a label inside the claim."""
    paused = [int(pause.value) for pause in pauses if pause.scope == "job" and pause.value.isdecimal()]
    labels = {pause.value for pause in pauses if pause.scope == "label"}
    if labels:
        live = Job.objects.filter(enabled=True, deleted_at__isnull=True).values_list("id", "labels")
        paused += [job_id for job_id, own in live if not labels.isdisjoint(own)]
    return paused


def _pick_of_row(row: Execution, lease: tuple[int, datetime] | None) -> _Pick:
    job = row.job
    return _Pick(
        row_state(row),
        row.task,
        row.scheduled_for,
        row.delivery_key,
        row.job_version,
        job.version,
        job.name,
        {name: getattr(job, name) for name in _DEFINITION},
        lease,
    )


def _lease_sqlite(row: Execution, identity: Identity, now: datetime) -> tuple[int, datetime] | None:
    if row.exclusive and Lease.objects.filter(job_id=row.job_id, exclusive=True).exists():
        return None
    FenceCounter.objects.get_or_create(id=1)
    FenceCounter.objects.filter(id=1).update(value=F("value") + 1)
    fence = FenceCounter.objects.get(id=1).value
    seconds = max(conf().lease_seconds, row.job.timeout_seconds + conf().lease_buffer_seconds)
    lease = Lease.objects.create(
        execution_id=row.id,
        job_id=row.job_id,
        worker=identity.incarnation,
        worker_id=identity.name,
        fence=fence,
        acquired_at=now,
        lease_expires_at=now + timedelta(seconds=seconds),
        exclusive=row.exclusive,
    )
    return fence, lease.lease_expires_at


def _older_definitions(picks: Sequence[_Pick]) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Definitions of rows made before their job's last change, by (job, version)."""
    stale = [pick for pick in picks if pick.job_version != pick.current_version]
    if not stale:
        return {}
    wanted = {(pick.row.job_id, pick.job_version) for pick in stale}
    current = {pick.row.job_id: pick.definition for pick in stale}
    found = JobVersion.objects.filter(
        job_id__in={job_id for job_id, _ in wanted}, version__in={version for _, version in wanted}
    )
    return {
        (version.job_id, version.version): {**current[version.job_id], **version.after}
        for version in found
        if (version.job_id, version.version) in wanted
    }


def _with_lease_of_version(
    pick: _Pick, older: Mapping[tuple[int, int], Mapping[str, Any]], now: datetime
) -> _Pick:
    """A row of an older version keeps its timeout, so its lease has to outlast that one."""
    definition = older.get((pick.row.job_id, pick.job_version))
    if definition is None or pick.lease is None:
        return pick
    fence, lease_expires_at = pick.lease
    needed = now + timedelta(seconds=definition["timeout_seconds"] + conf().lease_buffer_seconds)
    if needed <= lease_expires_at:
        return pick
    Lease.objects.filter(execution_id=pick.row.id).update(lease_expires_at=needed)
    return replace(pick, lease=(fence, needed))


def _claimed(pick: _Pick, row: RowState, older: Mapping[tuple[int, int], Mapping[str, Any]]) -> Claimed:
    definition = older.get((row.job_id, pick.job_version), pick.definition)
    assert pick.lease is not None
    fence, lease_expires_at = pick.lease
    return Claimed(
        row=row,
        task=pick.task,
        config=definition["config"],
        scheduled_for=pick.scheduled_for,
        delivery_key=pick.delivery_key,
        job_name=pick.job_name,
        job_version=pick.job_version,
        timeout_seconds=definition["timeout_seconds"],
        on_lost_worker=definition["on_lost_worker"],
        alert_mode=definition["alert_mode"],
        retry_rule=RetryRule(
            definition["retry_backoff"],
            definition["retry_backoff_seconds"],
            definition["retry_max_delay_seconds"],
            definition["retry_jitter"],
        ),
        fence=fence,
        lease_expires_at=lease_expires_at,
    )


def held_but_unknown(*, identity: Identity, known: Collection[int]) -> list[Claimed]:
    """Rows this incarnation holds without knowing it: the answer to the claim's COMMIT was lost.

    They are on record as started and nothing of them has run, so the worker starts them now.
    """
    leases = Lease.objects.filter(worker=identity.incarnation).exclude(execution_id__in=list(known))
    picks = []
    for lease in leases.select_related("execution__job"):
        if lease.execution.status == Status.RUNNING:
            picks.append(_pick_of_row(lease.execution, (lease.fence, lease.lease_expires_at)))
    older = _older_definitions(picks)
    return [_claimed(pick, pick.row, older) for pick in picks]


def cancel_rows_of_stopped_jobs(*, lane: str, now: datetime) -> int:
    """Cancel due rows whose job is disabled or deleted: they can only have slipped in beside that change."""
    stopped = Execution.objects.filter(claim_at__isnull=False, claim_at__lte=now, lane=lane).filter(
        Q(job__enabled=False) | Q(job__deleted_at__isnull=False)
    )
    ids = list(stopped.order_by("id").values_list("id", flat=True)[:CLEANUP_ROWS])
    if not ids:
        return 0
    rows = [row for row in lock_rows(ids, skip_locked=True).values() if row.claim_at is not None]
    reason = "its job was disabled or deleted before the start"
    done = apply([ended(row, status=Status.CANCELLED, reason=reason, now=now) for row in rows])
    promote((row.job_id for row in rows), now=now)
    return len(done)


def lowest_claimable_rank(*, lane: str) -> datetime | None:
    """The rank of a lane's first claimable row: a bound that lets a claim skip dead index entries."""
    found = Execution.objects.filter(claim_at__isnull=False, lane=lane).aggregate(rank=Min("rank_at"))
    rank: datetime | None = found["rank"]
    return rank
