"""The vector files of tests/vectors/, and the short ways in which tests compile and walk a schedule."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from scheduler_app.domain.occurrences import Schedule, compile_schedule

FOLDER = Path(__file__).parent.parent / "vectors"


def read_vectors(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines, f"{name} holds no vectors"
    return [json.loads(line) for line in lines]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def instants(texts: list[str]) -> list[datetime]:
    return [instant(text) for text in texts]


def cron(expression: str, timezone: str = "UTC", policy: str = "auto", **window: datetime) -> Schedule:
    return compile_schedule(
        schedule_type="cron",
        schedule={"expression": expression},
        timezone=timezone,
        dst_policy=policy,
        **window,
    )


def interval(seconds: int, anchor: datetime, **window: datetime) -> Schedule:
    return compile_schedule(
        schedule_type="interval",
        schedule={"every": f"{seconds}s"},
        timezone="UTC",
        anchor_at=anchor,
        **window,
    )


def one_time(run_at: str, timezone: str = "UTC") -> Schedule:
    return compile_schedule(schedule_type="one_time", schedule={"run_at": run_at}, timezone=timezone)


def forwards(schedule: Schedule, start: datetime, count: int) -> list[datetime]:
    """The first `count` slots strictly after `start`, by asking for the next one again and again."""
    slots: list[datetime] = []
    at: datetime | None = start
    while len(slots) < count and (at := schedule.next(at)) is not None:
        slots.append(at)
    return slots


def backwards(schedule: Schedule, end: datetime, count: int) -> list[datetime]:
    """The last `count` slots strictly before `end`, oldest first."""
    slots: list[datetime] = []
    at: datetime | None = end
    while len(slots) < count and (at := schedule.previous(at)) is not None:
        slots.append(at)
    return slots[::-1]


def answers_agree(schedule: Schedule, slots: list[datetime]) -> bool:
    """Whether previous, count and between say the same as these neighbouring slots."""
    if not slots:
        return True
    first, last, second = slots[0], slots[-1], timedelta(seconds=1)
    return (
        backwards(schedule, last + second, len(slots)) == slots
        and schedule.count(first, last, len(slots)) == len(slots)
        and schedule.count(first, last, len(slots) - 1) is None
        and schedule.between(first, last + second, len(slots) + 1) == slots
    )
