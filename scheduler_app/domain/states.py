"""The states of an execution and every legal arrow between them.

This table is the only place that knows them; `services/transitions.py` is the only writer. What is not
listed does not happen, and a terminal state is never left.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where an execution is in its life."""

    PENDING = "pending"
    CLAIMED = "claimed"
    RUNNING = "running"
    RETRY_SCHEDULED = "retry_scheduled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    MISSED = "missed"
    CANCELLED = "cancelled"
    DEAD_LETTERED = "dead_lettered"


WAITING = frozenset({Status.PENDING, Status.RETRY_SCHEDULED})
HELD = frozenset({Status.CLAIMED, Status.RUNNING})
TERMINAL = frozenset(
    {
        Status.SUCCEEDED,
        Status.FAILED,
        Status.TIMED_OUT,
        Status.MISSED,
        Status.CANCELLED,
        Status.DEAD_LETTERED,
    }
)
CANCELLABLE = WAITING | {Status.CLAIMED}
RETRYABLE_BY_OPERATOR = frozenset({Status.FAILED, Status.TIMED_OUT, Status.DEAD_LETTERED, Status.CANCELLED})

NEW = "(new)"

# (from, to, verb): the verb names the service call that draws the arrow.
TRANSITIONS: tuple[tuple[str, Status, str], ...] = (
    (NEW, Status.PENDING, "materialise, trigger, retry, backfill"),
    (NEW, Status.MISSED, "materialise"),
    (Status.PENDING, Status.RUNNING, "claim and start"),
    (Status.RETRY_SCHEDULED, Status.RUNNING, "claim and start"),
    (Status.PENDING, Status.CLAIMED, "claim ahead"),
    (Status.RETRY_SCHEDULED, Status.CLAIMED, "claim ahead"),
    (Status.PENDING, Status.FAILED, "fail unknown task"),
    (Status.RETRY_SCHEDULED, Status.FAILED, "fail unknown task"),
    (Status.CLAIMED, Status.RUNNING, "start"),
    (Status.PENDING, Status.CANCELLED, "cancel"),
    (Status.RETRY_SCHEDULED, Status.CANCELLED, "cancel"),
    (Status.CLAIMED, Status.CANCELLED, "cancel"),
    (Status.CLAIMED, Status.PENDING, "release or recover"),
    (Status.CLAIMED, Status.DEAD_LETTERED, "recover"),
    (Status.RUNNING, Status.SUCCEEDED, "complete"),
    (Status.RUNNING, Status.RETRY_SCHEDULED, "complete or recover"),
    (Status.RUNNING, Status.FAILED, "complete"),
    (Status.RUNNING, Status.TIMED_OUT, "complete"),
    (Status.RUNNING, Status.PENDING, "release"),
    (Status.RUNNING, Status.CANCELLED, "terminate"),
    (Status.RUNNING, Status.DEAD_LETTERED, "recover"),
)

_LEGAL = frozenset((origin, target) for origin, target, _ in TRANSITIONS)


def is_legal(origin: str, target: str) -> bool:
    """Whether an execution may go from `origin` (a status or NEW) to `target`."""
    return (origin, target) in _LEGAL
