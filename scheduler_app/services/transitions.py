"""The one writer of an execution's status.

New rows come from `insert_executions`; every later arrow is an `apply` of rows whose whole new state was
computed from what was read under lock. The guard is on the execution row itself (id, status and claim
token): after a lock wait PostgreSQL rechecks this row and nothing else, so a holder that lost its lease
changes zero rows. Callers lock in the order job → execution (by id) → lease → attempt → dead letter → alert.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from scheduler_app.domain.states import NEW, TERMINAL, WAITING, Status, is_legal
from scheduler_app.models import Execution, Lease
from scheduler_app.services.transactions import fetch_all, in_list, on_postgresql, sql_value

REASON_LIMIT = 300
PRIORITY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RowState:
    """What may change on an execution, as read; `exclusive` and `job_id` come along for callers."""

    id: int
    job_id: int
    exclusive: bool
    status: str
    claim_token: uuid.UUID | None
    reason: str
    available_at: datetime
    claim_at: datetime | None
    held_back: bool
    rank_at: datetime
    attempts: int
    max_attempts: int
    losses: int
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Change:
    """One arrow: the row as read (its status and token are the guard) and the row as it will be."""

    before: RowState
    after: RowState


@dataclass(frozen=True, slots=True)
class NewExecution:
    """A row to insert. `missed_reason` makes it a missed row, else it is pending (or held back)."""

    job_id: int
    job_version: int
    task: str
    lane: str
    trigger: str
    scheduled_for: datetime
    available_at: datetime
    rank_at: datetime
    max_attempts: int
    exclusive: bool
    queue: str
    delivery_key: str
    missed_reason: str = ""
    reason: str = ""
    held_back: bool = False
    retry_of_id: int | None = None


@dataclass(frozen=True, slots=True)
class Inserted:
    """What came of a row that was inserted."""

    id: int
    job_id: int
    scheduled_for: datetime
    status: str


def rank_of(available_at: datetime, priority: int) -> datetime:
    """Where a row stands in the line: each step of priority is worth a minute of waiting.

    Raises OverflowError for a priority no validator lets in.
    """
    return available_at - timedelta(seconds=PRIORITY_SECONDS * priority)


def lock_rows(ids: Iterable[int], *, skip_locked: bool = False) -> dict[int, RowState]:
    """The rows as they are now, locked in id order until the transaction ends."""
    wanted = list(ids)
    if not wanted:
        return {}
    rows = Execution.objects.filter(id__in=wanted).order_by("id")
    if on_postgresql():
        rows = rows.select_for_update(skip_locked=skip_locked)
    return {row.id: row_state(row) for row in rows}


def unfinished_ids(job_id: int) -> list[int]:
    """Ids of a job's rows that wait or are held, from the partial indexes, whatever the history's size."""
    of_job = Execution.objects.filter(job_id=job_id)
    waiting_rows = of_job.filter(claim_at__isnull=False).values_list("id", flat=True)
    held_back_rows = of_job.filter(held_back=True).values_list("id", flat=True)
    leased_rows = Lease.objects.filter(job_id=job_id).values_list("execution_id", flat=True)
    return sorted({*waiting_rows, *held_back_rows, *leased_rows})


def row_state(row: Execution) -> RowState:
    """The changing part of a loaded row."""
    return RowState(
        id=row.id,
        job_id=row.job_id,
        exclusive=row.exclusive,
        status=row.status,
        claim_token=row.claim_token,
        reason=row.reason,
        available_at=row.available_at,
        claim_at=row.claim_at,
        held_back=row.held_back,
        rank_at=row.rank_at,
        attempts=row.attempts,
        max_attempts=row.max_attempts,
        losses=row.losses,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def running(row: RowState, *, token: uuid.UUID, now: datetime) -> Change:
    """Start an attempt: it counts from here on."""
    after = replace(
        row,
        status=Status.RUNNING.value,
        claim_token=token,
        claim_at=None,
        held_back=False,
        attempts=row.attempts + 1,
        started_at=now,
        reason="",
    )
    return Change(row, after)


def waiting(
    row: RowState,
    *,
    status: Status,
    available_at: datetime,
    reason: str,
    max_attempts: int | None = None,
    losses: int | None = None,
) -> Change:
    """Give the row back to the line, claimable from `available_at`; its priority shift is kept."""
    if status not in WAITING:
        raise ValueError(f"{status} is not a waiting status")
    after = replace(
        row,
        status=status.value,
        claim_token=None,
        claim_at=available_at,
        held_back=False,
        available_at=available_at,
        rank_at=available_at + (row.rank_at - row.available_at),
        reason=reason[:REASON_LIMIT],
        max_attempts=row.max_attempts if max_attempts is None else max_attempts,
        losses=row.losses if losses is None else losses,
    )
    return Change(row, after)


def ended(row: RowState, *, status: Status, reason: str, now: datetime, losses: int | None = None) -> Change:
    """Bring the row to its terminal state."""
    if status not in TERMINAL:
        raise ValueError(f"{status} is not a terminal status")
    after = replace(
        row,
        status=status.value,
        claim_token=None,
        claim_at=None,
        held_back=False,
        finished_at=now,
        reason=reason[:REASON_LIMIT],
        losses=row.losses if losses is None else losses,
    )
    return Change(row, after)


_COLUMNS = (
    ("status", "text"),
    ("claim_token", "uuid"),
    ("reason", "text"),
    ("available_at", "timestamptz"),
    ("claim_at", "timestamptz"),
    ("held_back", "boolean"),
    ("rank_at", "timestamptz"),
    ("attempts", "integer"),
    ("max_attempts", "integer"),
    ("losses", "integer"),
    ("started_at", "timestamptz"),
    ("finished_at", "timestamptz"),
)
_APPLY_POSTGRESQL = (
    "UPDATE scheduler_app_execution AS e SET "
    + ", ".join(f"{name} = u.{name}" for name, _ in _COLUMNS)
    + " FROM unnest(%s::bigint[], %s::text[], %s::uuid[], "
    + ", ".join(f"%s::{kind}[]" for _, kind in _COLUMNS)
    + ") AS u(id, guard_status, guard_token, "
    + ", ".join(name for name, _ in _COLUMNS)
    + ") WHERE e.id = u.id AND e.status = u.guard_status"
    " AND e.claim_token IS NOT DISTINCT FROM u.guard_token RETURNING e.id"
)
_APPLY_SQLITE = (
    "UPDATE scheduler_app_execution SET "
    + ", ".join(f"{name} = %s" for name, _ in _COLUMNS)
    + " WHERE id = %s AND status = %s AND claim_token IS %s"
)


def apply(changes: Sequence[Change]) -> set[int]:
    """Draw the arrows; return the ids that changed. A missing id lost its lease or moved meanwhile.

    Raises ValueError for an arrow the state table does not have; nothing is written then.
    """
    for change in changes:
        if not is_legal(change.before.status, change.after.status):
            raise ValueError(f"an execution cannot go from {change.before.status} to {change.after.status}")
    if not changes:
        return set()
    if on_postgresql():
        ordered = sorted(changes, key=lambda change: change.before.id)
        columns: list[list[Any]] = [
            [change.before.id for change in ordered],
            [change.before.status for change in ordered],
            [change.before.claim_token for change in ordered],
        ]
        columns += [[getattr(change.after, name) for change in ordered] for name, _ in _COLUMNS]
        return {row[0] for row in fetch_all(_APPLY_POSTGRESQL, columns)}
    return {change.before.id for change in changes if _apply_one(change)}


def _apply_one(change: Change) -> bool:
    values = [sql_value(getattr(change.after, name)) for name, _ in _COLUMNS]
    guard = [change.before.id, change.before.status, sql_value(change.before.claim_token)]
    with connection.cursor() as cursor:
        cursor.execute(_APPLY_SQLITE, [*values, *guard])
        return int(cursor.rowcount) == 1


_INSERT_COLUMNS = (
    ("job_id", "bigint"),
    ("job_version", "integer"),
    ("task", "text"),
    ("lane", "text"),
    ("trigger", "text"),
    ("scheduled_for", "timestamptz"),
    ("available_at", "timestamptz"),
    ("claim_at", "timestamptz"),
    ("held_back", "boolean"),
    ("rank_at", "timestamptz"),
    ("status", "text"),
    ("reason", "text"),
    ("max_attempts", "integer"),
    ("exclusive", "boolean"),
    ("queue", "text"),
    ("delivery_key", "text"),
    ("retry_of_id", "bigint"),
    ("finished_at", "timestamptz"),
)
_INSERT_NAMES = ", ".join(name for name, _ in _INSERT_COLUMNS) + ", attempts, losses"
_ON_CONFLICT = (
    " ON CONFLICT (job_id, scheduled_for, trigger) WHERE trigger IN ('schedule', 'backfill') DO NOTHING"
)
_INSERT_POSTGRESQL = (
    f"INSERT INTO scheduler_app_execution ({_INSERT_NAMES}) SELECT u.*, 0, 0 FROM unnest("
    + ", ".join(f"%s::{kind}[]" for _, kind in _INSERT_COLUMNS)
    + f") AS u{_ON_CONFLICT} RETURNING id, job_id, scheduled_for, status"
)
_INSERT_SQLITE = (
    f"INSERT INTO scheduler_app_execution ({_INSERT_NAMES}) VALUES ("
    + ", ".join(["%s"] * len(_INSERT_COLUMNS))
    + f", 0, 0){_ON_CONFLICT} RETURNING id"
)


def insert_executions(rows: Sequence[NewExecution], *, now: datetime) -> list[Inserted]:
    """Insert rows in one statement; a slot that has its row already is left alone and not returned."""
    if not rows:
        return []
    records = [_insert_record(row, now) for row in rows]
    for record in records:
        assert is_legal(NEW, record["status"])
    if on_postgresql():
        columns = [[record[name] for record in records] for name, _ in _INSERT_COLUMNS]
        return [Inserted(*found) for found in fetch_all(_INSERT_POSTGRESQL, columns)]
    inserted = []
    for record in records:
        found = fetch_all(_INSERT_SQLITE, [sql_value(record[name]) for name, _ in _INSERT_COLUMNS])
        if found:
            inserted.append(
                Inserted(found[0][0], record["job_id"], record["scheduled_for"], record["status"])
            )
    return inserted


def _insert_record(row: NewExecution, now: datetime) -> dict[str, Any]:
    missed = bool(row.missed_reason)
    return {
        "job_id": row.job_id,
        "job_version": row.job_version,
        "task": row.task,
        "lane": row.lane,
        "trigger": row.trigger,
        "scheduled_for": row.scheduled_for,
        "available_at": row.available_at,
        "claim_at": None if missed or row.held_back else row.available_at,
        "held_back": row.held_back and not missed,
        "rank_at": row.rank_at,
        "status": (Status.MISSED if missed else Status.PENDING).value,
        "reason": (row.missed_reason or row.reason)[:REASON_LIMIT],
        "max_attempts": row.max_attempts,
        "exclusive": row.exclusive,
        "queue": row.queue,
        "delivery_key": row.delivery_key,
        "retry_of_id": row.retry_of_id,
        "finished_at": now if missed else None,
    }


def hold_back(ids: Sequence[int]) -> None:
    """Take claimable rows out of the line until their job is free; their status stays."""
    if ids:
        clause, parameters = in_list(ids)
        fetch_all(
            "UPDATE scheduler_app_execution SET held_back = %s, claim_at = NULL"
            f" WHERE id {clause} AND claim_at IS NOT NULL RETURNING id",
            [True, *parameters],
        )
