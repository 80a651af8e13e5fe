"""The run bars: the last occurrences of a job as a row of marks that reads in grey.

Success stands up from the base line, failure hangs down, a skipped one is a dash on the line; the height is
the logarithm of the duration against the job's own median.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from statistics import median

from scheduler_app.models import Execution
from scheduler_app.templatetags.marks import EXECUTION_MARKS

BASE = 14
PITCH = 6
WIDTH = 4
SLOTS = 30
_SHORT, _TALL = 4.0, 13.0
_WORDS = (
    ("succeeded", {"succeeded"}),
    ("failed", {"failed", "timed_out", "dead_lettered"}),
    ("skipped", {"missed"}),
    ("cancelled", {"cancelled"}),
    ("running or waiting", {"running", "claimed", "pending", "retry_scheduled"}),
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: class of its status, and its box in the 180 x 28 drawing."""

    css: str
    x: int
    y: float
    height: float
    outline: bool
    foot: bool


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars, oldest first, and the sentence that says the same."""

    bars: list[Bar]
    sentence: str


def bars_of(executions: Sequence[Execution]) -> Bars:
    """Bars of up to 30 executions given oldest first; the newest stands right."""
    shown = list(executions)[-SLOTS:]
    lengths = {id(one): _length(one) for one in shown}
    known = [length for length in lengths.values() if length]
    middle = median(known) if known else 1.0
    first = SLOTS - len(shown)
    bars = [
        _mark(one.status, (first + place) * PITCH + 1, _height(lengths[id(one)], middle))
        for place, one in enumerate(shown)
    ]
    return Bars(bars, _sentence([one.status for one in shown]))


def _length(execution: Execution) -> float:
    if execution.started_at is None or execution.finished_at is None:
        return 0.0
    return max((execution.finished_at - execution.started_at).total_seconds(), 0.001)


def _height(length: float, middle: float) -> float:
    if not length:
        return 8.0
    return round(min(_TALL, max(_SHORT, 8.0 + 2.0 * log2(length / middle))), 1)


def _mark(status: str, x: int, height: float) -> Bar:
    css = EXECUTION_MARKS[status].css if status in EXECUTION_MARKS else "st-wait"
    if status in ("failed", "timed_out", "dead_lettered", "retry_scheduled"):
        return Bar(css, x, BASE, height, False, status == "dead_lettered")
    if status == "missed":
        return Bar(css, x, BASE - 1, 2, False, False)
    if status in ("pending", "claimed", "cancelled"):
        return Bar(css, x, BASE - 4.5, 4, True, False)
    return Bar(css, x, BASE - height, height, status == "running", False)


def _sentence(statuses: Sequence[str]) -> str:
    if not statuses:
        return "never ran"
    parts = [f"{count} {word}" for word, group in _WORDS if (count := sum(one in group for one in statuses))]
    return f"last {len(statuses)}: {', '.join(parts)}"
