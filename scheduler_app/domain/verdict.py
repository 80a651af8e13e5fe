"""What the end of an attempt means for its execution, as data.

Nothing here writes: the verdict says which state comes next, when it may run again, and whether a dead
letter and an alert are due; completion and recovery carry it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler_app.domain.retry import RetryRule, retry_delay_seconds
from scheduler_app.domain.states import Status

LOSSES_BEFORE_DEAD_LETTER = 5


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended: outcome (a word of AttemptOutcome) and whether a retry makes sense."""

    outcome: str
    retryable: bool = True
    summary: str = ""
    retry_after_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the execution stood when the attempt ended; `attempts` counts the one that ended."""

    attempts: int
    max_attempts: int
    on_lost_worker: str
    rule: RetryRule


@dataclass(frozen=True, slots=True)
class Verdict:
    """Next status, seconds until it may run (None when terminal), and what has to be raised."""

    status: Status
    reason: str
    delay_seconds: float | None = None
    dead_letter: bool = False
    max_attempts: int | None = None


def _exhausted(status: Status, reason: str) -> Verdict:
    return Verdict(status=status, reason=reason, dead_letter=True)


def judge_attempt(ending: Ending, standing: Standing, *, random: Callable[[], float]) -> Verdict:
    """The verdict on a running execution whose attempt ended and was seen by its holder.

    `released` means the holder gave it back (drain); `terminated` that a person stopped it.
    """
    number, limit = standing.attempts, standing.max_attempts
    if ending.outcome == "succeeded":
        return Verdict(Status.SUCCEEDED, "")
    if ending.outcome == "terminated":
        return Verdict(Status.CANCELLED, ending.summary or "terminated by an operator")
    if ending.outcome == "released":
        if standing.on_lost_worker == "retry":
            return Verdict(Status.PENDING, ending.summary, delay_seconds=0.0, max_attempts=limit + 1)
        return _exhausted(
            Status.DEAD_LETTERED, "handed back by its worker; the job says not to repeat a cut run"
        )
    if ending.outcome == "lost":
        return judge_lost_attempt(standing, detail=ending.summary)
    final = Status.TIMED_OUT if ending.outcome == "timed_out" else Status.FAILED
    if not ending.retryable:
        return _exhausted(final, ending.summary or "the task asked not to be retried")
    if number >= limit:
        return _exhausted(final, ending.summary or f"attempt {number} of {limit} {ending.outcome}")
    delay = retry_delay_seconds(
        standing.rule,
        attempt_number=number,
        random=random,
        retry_after_seconds=ending.retry_after_seconds,
    )
    reason = (
        f"retry {number + 1} of {limit}: {ending.summary}"
        if ending.summary
        else f"retry {number + 1} of {limit}"
    )
    return Verdict(Status.RETRY_SCHEDULED, reason, delay_seconds=delay)


def judge_lost_attempt(standing: Standing, *, detail: str = "") -> Verdict:
    """The verdict on a running execution whose worker was lost: run again at once, or abandoned."""
    lost = detail or "its worker was lost"
    if standing.on_lost_worker != "retry":
        return _exhausted(Status.DEAD_LETTERED, f"{lost}; the job says not to repeat a cut run")
    if standing.attempts >= standing.max_attempts:
        return _exhausted(Status.DEAD_LETTERED, f"{lost}; attempt {standing.attempts} was the last")
    return Verdict(
        Status.RETRY_SCHEDULED,
        f"retry {standing.attempts + 1} of {standing.max_attempts}: {lost}",
        delay_seconds=0.0,
    )


def judge_lost_claim(*, losses: int) -> Verdict:
    """The verdict on a claimed row that never started; `losses` counts this one."""
    if losses >= LOSSES_BEFORE_DEAD_LETTER:
        return _exhausted(Status.DEAD_LETTERED, f"claimed {losses} times and lost each time")
    return Verdict(Status.PENDING, "its worker was lost before the start", delay_seconds=0.0)
