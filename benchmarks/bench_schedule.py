"""What one `next` costs: this engine beside croniter and cronsim, in one run on one machine.

Run: `python benchmarks/bench_schedule.py`. "fresh" is a single question with nothing kept but what each
library can keep (the compiled schedule here; the others start from text), "walk" is each further run.
Microseconds, best of five.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from timeit import repeat
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).parents[1]))

from croniter import croniter
from cronsim import CronSim

from scheduler_app.domain.cron_calendar import calendar_of
from scheduler_app.domain.occurrences import compile_schedule

START = datetime(2026, 3, 7, 12, 0, tzinfo=UTC)
STEPS = 200
CASES = [
    ("* * * * *", "UTC"),
    ("*/10 * * * *", "America/New_York"),
    ("0 9 * * 1-5", "America/New_York"),
    ("30 2 * * *", "America/New_York"),
    ("0 0 1 * *", "Europe/Paris"),
    ("0 0 * * FRI#1", "Europe/Paris"),
    ("0 0 1 1 *", "Asia/Tokyo"),
]
HEADS = ("expression", "zone", "ours fresh", "walk", "croniter fresh", "walk", "cronsim fresh", "walk")
WIDTHS = (14, 17, 10, 7, 14, 7, 13, 7)


def best_microseconds(run: Callable[[], object], number: int, steps: int = 1) -> float:
    return min(repeat(run, number=number, repeat=5)) / number / steps * 1e6


def ours(expression: str, zone: str) -> tuple[float, float]:
    schedule = compile_schedule(schedule_type="cron", schedule={"expression": expression}, timezone=zone)

    def walk() -> None:
        at: datetime | None = START
        for _ in range(STEPS):
            if at is None:
                return
            at = schedule.next(at)

    return best_microseconds(lambda: schedule.next(START), 2_000), best_microseconds(walk, 5, STEPS)


def theirs(start: Callable[[], Callable[[], object]]) -> tuple[float, float]:
    """`start` begins a new search and gives its "next"."""
    step = start()
    walked = best_microseconds(lambda: [step() for _ in range(STEPS // 10)], 1, STEPS // 10)
    return best_microseconds(lambda: start()(), 50), walked


def rows() -> list[tuple[str, ...]]:
    table = []
    for expression, zone in CASES:
        local = START.astimezone(ZoneInfo(zone))
        measured = (
            *ours(expression, zone),
            *theirs(lambda e=expression, s=local: croniter(e, s, ret_type=datetime).get_next),
            *theirs(lambda e=expression, s=local: CronSim(e, s).__next__),
        )
        table.append((expression, zone, *(f"{value:.1f}" for value in measured)))
    return table


def compile_microseconds() -> tuple[float, float]:
    """A new expression, and one that was compiled before."""
    texts = [f"{minute} {hour} * * 1-5" for minute in range(60) for hour in range(24)]
    cold = min(repeat(lambda: [calendar_of.__wrapped__(text) for text in texts], number=1, repeat=3))
    warm = best_microseconds(
        lambda: compile_schedule(
            schedule_type="cron", schedule={"expression": "0 9 * * 1-5"}, timezone="America/New_York"
        ),
        2_000,
    )
    return cold / len(texts) * 1e6, warm


def main() -> None:
    for row in (HEADS, *rows()):
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, WIDTHS, strict=True)) + "\n")
    cold, warm = compile_microseconds()
    sys.stdout.write(f"compile a new expression {cold:.1f}, a known one {warm:.1f}\n")


if __name__ == "__main__":
    main()
