"""Why an execution is where it is, in one sentence, and the instants it went through as steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduler_app.models import Attempt, Execution
from scheduler_app.templatetags.marks import duration_text

TRIGGER_WORDS = {
    "schedule": "by its schedule",
    "manual": "by a person (run now)",
    "retry": "as an operator's retry",
    "backfill": "as a backfill",
    "api": "through the API",
    "test": "as a test",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One instant on the way and the length before it; `at` is None while it lies ahead."""

    label: str
    at: datetime | None
    gap: str = ""
    may_be_late: bool = False


def why(execution: Execution, attempts: Sequence[Attempt]) -> str:
    """One sentence for every state; the stored reason is quoted where there is one."""
    reason = execution.reason.rstrip(".")
    tries = f"{execution.attempts} of {execution.max_attempts}"
    status = execution.status
    if status == "pending":
        held = (
            "Waiting for its turn: an earlier run of this job is not finished"
            if execution.held_back
            else "Queued: waits for a free worker slot"
        )
        return f"{held} ({reason})." if reason else f"{held}."
    if status == "claimed":
        return "Claimed by a worker; it starts when a slot is free."
    if status == "running":
        return f"Running: attempt {tries}."
    if status == "retry_scheduled":
        said = f"Waiting for attempt {execution.attempts + 1} of {execution.max_attempts}"
        return f"{said}: {reason}." if reason else f"{said}."
    if status == "succeeded":
        return (
            f"Succeeded at attempt {tries}." if execution.attempts > 1 else "Succeeded at the first attempt."
        )
    if status == "missed":
        return f"Skipped: {reason}." if reason else "Skipped."
    if status == "cancelled":
        return f"Cancelled: {reason}." if reason else "Cancelled before it ran."
    return _ended_badly(execution, reason, tries)


def _ended_badly(execution: Execution, reason: str, tries: str) -> str:
    said = {
        "failed": f"Failed at attempt {tries}",
        "timed_out": f"Stopped at its time limit, attempt {tries}",
        "dead_lettered": f"Given up after attempt {tries}",
    }.get(execution.status, execution.status)
    return f"{said}: {reason}." if reason else f"{said}."


def steps_of(execution: Execution) -> list[Step]:
    """Due, started, ended, with the lengths in between."""
    due, available = execution.scheduled_for, execution.available_at
    started, ended = execution.started_at, execution.finished_at
    waiting = started is None and ended is None
    steps = [Step("Due", due, may_be_late=waiting and available == due)]
    if available != due and execution.trigger == "schedule" and started is None:
        steps.append(Step("May start", available, may_be_late=waiting))
    if started is not None or ended is None:
        lag = (
            duration_text(started - due)
            if started and execution.trigger == "schedule" and execution.attempts < 2
            else ""
        )
        steps.append(Step("Started", started, f"after {lag}" if lag else ""))
    ran = duration_text(ended - started) if started and ended else ""
    steps.append(Step("Ended", ended, f"ran {ran}" if ran else ""))
    return steps
