"""What a task is told about the attempt it runs in, and the two ways it can speak while it runs.

The delivery key is the same on every attempt of one occurrence, so a task that hands it on can be repeated
without doing its effect twice; the fence grows with every claim, so a receiver can refuse an older holder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

Report = Callable[[int, int], None]


def _say_nothing(done: int, total: int) -> None:
    """Where nobody listens, progress is dropped."""


@dataclass(frozen=True, slots=True)
class TaskContext:
    """Ids of the attempt; `scheduled_for` is an aware UTC datetime, or None where the run has no slot."""

    execution_id: int
    job_id: int
    attempt: int
    scheduled_for: datetime | None
    delivery_key: str
    fence: int
    _report: Report = field(default=_say_nothing, repr=False, compare=False)

    def log(self, message: object) -> None:
        """Write one line to the captured output at once."""
        sys.stdout.write(f"{message}\n")
        sys.stdout.flush()

    def progress(self, done: int, total: int) -> None:
        """Tell how far the task is: 0 <= done <= total, total >= 1. Raises ValueError otherwise."""
        if total < 1 or not 0 <= done <= total:
            raise ValueError(f"progress({done}, {total}): want 0 <= done <= total and total >= 1")
        self._report(done, total)

    @classmethod
    def from_mapping(cls, values: Mapping[str, object], report: Report = _say_nothing) -> TaskContext:
        """Rebuild the context from its JSON form. Raises ValueError when a number or instant is not one."""
        slot = values.get("scheduled_for")
        return cls(
            execution_id=_whole(values, "execution_id"),
            job_id=_whole(values, "job_id"),
            attempt=_whole(values, "attempt"),
            scheduled_for=datetime.fromisoformat(str(slot)) if slot else None,
            delivery_key=str(values.get("delivery_key", "")),
            fence=_whole(values, "fence"),
            _report=report,
        )


def _whole(values: Mapping[str, object], name: str) -> int:
    return int(str(values.get(name, 0)))
