"""Complete: write the end of attempts, as a batch, in one transaction with all that belongs to it.

Steps, in lock order: lock the executions by id; one guarded UPDATE by status and token; attempt rows for
those that changed; their leases; turns of their jobs; dead letters; alerts by key; events. A row that did
not change lost its lease: nothing of it is written but a log line.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from scheduler_app import events
from scheduler_app.domain.states import TERMINAL, Status
from scheduler_app.domain.verdict import Ending, Standing, Verdict, judge_attempt
from scheduler_app.models import Attempt, DeadLetter, Lease
from scheduler_app.services.alerts import NewAlert, raise_alerts
from scheduler_app.services.audit import AuditLine, record
from scheduler_app.services.claiming import Claimed
from scheduler_app.services.heartbeats import Identity
from scheduler_app.services.transitions import Change, RowState, apply, ended, lock_rows, waiting
from scheduler_app.services.turns import promote
from scheduler_app.services.wakeups import notify_workers


@dataclass(frozen=True, slots=True)
class FinishedAttempt:
    """An attempt whose end was seen by its holder, with what it left behind.

    Texts are clean and capped by the reader; `peak_rss_bytes` and `cpu_seconds` are None when not measured.
    """

    claimed: Claimed
    ending: Ending
    finished_at: datetime
    output: str = ""
    error: str = ""
    result: Any = None
    exit_code: int | None = None
    exchange: dict[str, Any] | None = None
    cpu_seconds: float | None = None
    peak_rss_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class EndedRow:
    """A row that was brought out of running or claimed, and the facts its dead letter and alert need."""

    row: RowState
    verdict: Verdict
    job_name: str
    alert_mode: str


def complete_attempts(
    finished: Sequence[FinishedAttempt], *, identity: Identity, now: datetime
) -> list[FinishedAttempt]:
    """Write the batch inside the caller's transaction; return the attempts whose lease was lost."""
    if not finished:
        return []
    by_id = {attempt.claimed.row.id: attempt for attempt in finished}
    locked = lock_rows(by_id)
    changes: list[Change] = []
    verdicts: dict[int, Verdict] = {}
    for execution_id, attempt in by_id.items():
        row = locked.get(execution_id)
        if row is None or row.status != Status.RUNNING or row.claim_token != attempt.claimed.token:
            continue
        verdict = judge_attempt(attempt.ending, _standing(attempt, row), random=random.random)
        verdicts[execution_id] = verdict
        changes.append(change_by_verdict(row, verdict, now=now))
    changed = apply(changes)
    written = [by_id[change.before.id] for change in changes if change.before.id in changed]
    _write_attempts(written, identity)
    endings = [
        EndedRow(
            change.before,
            verdicts[change.before.id],
            by_id[change.before.id].claimed.job_name,
            by_id[change.before.id].claimed.alert_mode,
        )
        for change in changes
        if change.before.id in changed
    ]
    settle_ended(endings, actor=f"worker:{identity.name}", now=now)
    lost = [attempt for execution_id, attempt in by_id.items() if execution_id not in changed]
    for attempt in lost:
        _report_lost(attempt)
    return lost


def _standing(attempt: FinishedAttempt, row: RowState) -> Standing:
    return Standing(
        attempts=row.attempts,
        max_attempts=row.max_attempts,
        on_lost_worker=attempt.claimed.on_lost_worker,
        rule=attempt.claimed.retry_rule,
    )


def change_by_verdict(row: RowState, verdict: Verdict, *, now: datetime, losses: int | None = None) -> Change:
    """The arrow a verdict asks for."""
    if verdict.status in TERMINAL:
        return ended(row, status=verdict.status, reason=verdict.reason, now=now, losses=losses)
    assert verdict.delay_seconds is not None
    return waiting(
        row,
        status=verdict.status,
        available_at=now + timedelta(seconds=verdict.delay_seconds),
        reason=verdict.reason,
        max_attempts=verdict.max_attempts,
        losses=losses,
    )


def _write_attempts(written: Sequence[FinishedAttempt], identity: Identity) -> None:
    Attempt.objects.bulk_create(_attempt_row(attempt, identity) for attempt in written)


def _attempt_row(attempt: FinishedAttempt, identity: Identity) -> Attempt:
    row = attempt.claimed.row
    assert row.started_at is not None
    return Attempt(
        execution_id=row.id,
        number=row.attempts,
        outcome=attempt.ending.outcome,
        worker=identity.incarnation,
        worker_id=identity.name,
        fence=attempt.claimed.fence,
        started_at=row.started_at,
        finished_at=max(attempt.finished_at, row.started_at),
        output=attempt.output,
        error=attempt.error,
        result=attempt.result,
        exit_code=attempt.exit_code,
        exchange=attempt.exchange,
        cpu_seconds=attempt.cpu_seconds,
        peak_rss_bytes=attempt.peak_rss_bytes,
    )


def settle_ended(endings: Sequence[EndedRow], *, actor: str, now: datetime) -> None:
    """What every arrow out of claimed or running brings: lease gone, next turn, dead letter, alert, event."""
    if not endings:
        return
    Lease.objects.filter(execution_id__in=[ending.row.id for ending in endings]).delete()
    promoted = promote((ending.row.job_id for ending in endings if ending.row.exclusive), now=now)
    if promoted or any(ending.verdict.delay_seconds == 0 for ending in endings):
        notify_workers()
    dead = [ending for ending in endings if ending.verdict.dead_letter]
    if not dead:
        return
    DeadLetter.objects.bulk_create(
        DeadLetter(
            execution_id=ending.row.id,
            job_id=ending.row.job_id,
            reason=ending.verdict.reason[:300],
            created_at=now,
        )
        for ending in sorted(dead, key=lambda ending: ending.row.id)
    )
    raise_alerts([_exhausted_alert(ending) for ending in dead], now=now)
    record([_exhausted_line(ending, actor) for ending in dead], now=now)


def _exhausted_alert(ending: EndedRow) -> NewAlert:
    status, row = ending.verdict.status, ending.row
    message = (
        f"Execution {row.id} of job {row.job_id} ({ending.job_name}) is {status}: {ending.verdict.reason}"
    )
    return NewAlert(
        key=f"execution_{status}:{row.job_id}",
        kind=f"execution_{status}",
        message=message,
        job_id=row.job_id,
        execution_id=row.id,
        mode=ending.alert_mode,
    )


def _exhausted_line(ending: EndedRow, actor: str) -> AuditLine:
    row = ending.row
    action = f"execution.{ending.verdict.status}"
    return AuditLine(actor, action, "execution", row.id, row.job_id, ending.verdict.reason)


def _report_lost(attempt: FinishedAttempt) -> None:
    row = attempt.claimed.row
    token: uuid.UUID = attempt.claimed.token
    transaction.on_commit(
        lambda: events.emit(
            "execution.lease_lost",
            execution_id=row.id,
            job_id=row.job_id,
            attempt=row.attempts,
            claim_token=str(token),
        ),
        robust=True,
    )
