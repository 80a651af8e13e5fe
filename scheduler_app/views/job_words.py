"""The settings of a job as one paragraph, so that a reader need not know the names of the policies."""

from __future__ import annotations

from scheduler_app.domain.retry import RetryRule, retry_delay_seconds
from scheduler_app.models import Job

OVERLAP_WORDS = {
    "skip": "one at a time, a run that is due meanwhile is skipped",
    "queue": "one at a time, later ones wait in line",
    "allow": "several may run at the same time",
}
MISFIRE_WORDS = {
    "coalesce": "of runs found late only the newest is made up for",
    "catch_up": "all runs found late are made up for, oldest first",
    "skip": "runs found late are skipped",
}
LOST_WORDS = {
    "retry": "a run whose worker is lost is tried again",
    "fail": "a run whose worker is lost counts as failed",
}


def job_sentence(job: Job, schedule: str) -> str:
    """One paragraph after the schedule: overlap, attempts, late runs, time limit."""
    parts = [
        f"{schedule}; {OVERLAP_WORDS.get(job.overlap_policy, job.overlap_policy)}",
        attempts_words(job),
        f"{MISFIRE_WORDS.get(job.misfire_policy, job.misfire_policy)} "
        f"(late is more than {short_length(job.misfire_grace_seconds)})",
        f"stopped after {short_length(job.timeout_seconds)}",
        LOST_WORDS.get(job.on_lost_worker, job.on_lost_worker),
    ]
    return "; ".join(parts) + "."


def attempts_words(job: Job) -> str:
    """How often it is tried and how long that can take, waiting times alone."""
    if job.max_attempts == 1:
        return "one attempt, no retry"
    rule = RetryRule(job.retry_backoff, job.retry_backoff_seconds, job.retry_max_delay_seconds, jitter="none")
    shown = min(job.max_attempts - 1, 100)
    waits = [retry_delay_seconds(rule, attempt_number=number, random=float) for number in range(1, shown + 1)]
    first = ", ".join(short_length(wait) for wait in waits[:3]) + ("…" if len(waits) > 3 else "")
    most = "at most " if job.retry_jitter == "full" else ""
    return f"up to {job.max_attempts} attempts, {most}{first} apart"


def short_length(seconds: float) -> str:
    """Lengths as people say them: `90 s`, `5 min`, `2 min 15 s`, `2 h 30 min`, `1 d`."""
    whole = round(seconds)
    if whole < 120 and whole != 60:
        return f"{whole} s"
    if whole < 3_600:
        return _two_units(whole, 60, "min", 1, "s")
    if whole < 86_400:
        return _two_units(whole, 3_600, "h", 60, "min")
    return _two_units(whole, 86_400, "d", 3_600, "h")


def _two_units(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    return f"{whole // large} {large_name}" + (f" {rest} {small_name}" if rest else "")
