"""The audit trail: one append-only line for what a person or a policy decided.

Claims, starts and successes make none. Lines are written in the transaction of what they tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scheduler_app.models import Event

SYSTEM = "system:scheduler"
SUMMARY_LIMIT = 500
_SECRET_MARK = "secret"
_MASK = "(set)"


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One line before it is written."""

    actor: str
    action: str
    object_type: str
    object_id: int | None
    job_id: int | None = None
    summary: str = ""
    diff: Mapping[str, object] = field(default_factory=dict)


def record(lines: Sequence[AuditLine], *, now: datetime) -> None:
    """Write the lines in one statement; nothing for none."""
    if lines:
        Event.objects.bulk_create(
            Event(
                at=now,
                actor=line.actor[:200],
                action=line.action,
                object_type=line.object_type,
                object_id=line.object_id,
                job_id=line.job_id,
                summary=line.summary[:SUMMARY_LIMIT],
                diff=dict(line.diff),
            )
            for line in lines
        )


def definition_diff(before: Mapping[str, object] | None, after: Mapping[str, object]) -> dict[str, object]:
    """Changed fields as {field: [old, new]}; anything named like a secret is masked."""
    old = before or {}
    return {
        name: [_masked(name, old.get(name)), _masked(name, value)]
        for name, value in after.items()
        if before is None or old.get(name) != value
    }


def _masked(name: str, value: object) -> object:
    if _SECRET_MARK in name.lower() and value:
        return _MASK
    if isinstance(value, Mapping):
        return {key: _masked(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(name, inner) for inner in value]
    return value
