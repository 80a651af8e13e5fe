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
    """Whole lengths as people say them: `30 s`, `5 min`, `2 h`, `1 d`."""
    whole = round(seconds)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if whole >= length and whole % length == 0:
            return f"{whole // length} {unit}"
    if whole < 120:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60} s"
        if whole < 3_600
        else f"{whole // 3_600} h {whole % 3_600 // 60} min"
    )
