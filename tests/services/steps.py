"""The steps of scheduler and worker as one call each, at an instant the test chooses."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from scheduler_app.domain.verdict import Ending
from scheduler_app.models import Execution, Heartbeat
from scheduler_app.services.claiming import Claimed, ClaimRequest, ClaimResult, claim_and_start
from scheduler_app.services.completion import FinishedAttempt, complete_attempts
from scheduler_app.services.heartbeats import Identity
from scheduler_app.services.scheduling import TickResult, materialise_due
from scheduler_app.services.transactions import daemon_transaction
from tests.factories import NOW


def tick(now: datetime = NOW, **values: Any) -> TickResult:
    """One batch of a scheduler."""
    return materialise_due(now=now, **values)


def pick(
    worker: Identity,
    *,
    now: datetime = NOW,
    limit: int = 10,
    lane: str = "task",
    queues: tuple[str, ...] = (),
) -> ClaimResult:
    """One claim of a worker, with how many rows it looked at."""
    request = ClaimRequest(lane=lane, limit=limit, tasks=worker.tasks, queues=queues)
    with daemon_transaction():
        return claim_and_start(request=request, identity=worker, now=now)


def claim(worker: Identity, *, now: datetime = NOW, limit: int = 10, **values: Any) -> list[Claimed]:
    """The executions a worker starts, which shows a sign of life just before, as its loop does."""
    Heartbeat.objects.filter(incarnation=worker.incarnation).update(alive_until=now + timedelta(seconds=45))
    return pick(worker, now=now, limit=limit, **values).claimed


def ending(outcome: str = "succeeded", **values: Any) -> Ending:
    """How an attempt ended."""
    return Ending(outcome, **values)


def attempt(
    claimed: Claimed, outcome: str | Ending = "succeeded", *, now: datetime = NOW, **values: Any
) -> FinishedAttempt:
    """An attempt whose end its worker has seen."""
    how = Ending(outcome) if isinstance(outcome, str) else outcome
    return FinishedAttempt(claimed=claimed, ending=how, finished_at=now, **values)


def finish(
    worker: Identity,
    claimed: Claimed,
    outcome: str | Ending = "succeeded",
    *,
    now: datetime = NOW,
    **values: Any,
) -> list[FinishedAttempt]:
    """Write the end of one attempt; what comes back lost its lease."""
    with daemon_transaction():
        done = attempt(claimed, outcome, now=now, **values)
        return complete_attempts([done], identity=worker, now=now)


def fresh(execution: Execution | Claimed | int) -> Execution:
    """The row as the database has it now."""
    if isinstance(execution, Claimed):
        execution = execution.row.id
    return Execution.objects.get(id=execution if isinstance(execution, int) else execution.id)
