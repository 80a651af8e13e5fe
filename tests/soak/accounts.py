"""The books of a soak: statements that must find nothing, and the walk of every schedule against its rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from django.db import connection

from scheduler_app.models import Attempt, Execution, Job, MissedRange
from scheduler_app.queries.job_schedules import schedule_of

# Each statement lists faults; a sound history gives no row.
FAULTS = {
    "a slot with two rows": """
        SELECT job_id, scheduled_for FROM scheduler_app_execution WHERE trigger = 'schedule'
        GROUP BY job_id, scheduled_for HAVING count(*) > 1""",
    "an attempt number used twice": """
        SELECT execution_id, number FROM scheduler_app_attempt
        GROUP BY execution_id, number HAVING count(*) > 1""",
    "attempt numbers with a hole": """
        SELECT e.id, e.attempts, count(a.id) FROM scheduler_app_execution e
        LEFT JOIN scheduler_app_attempt a ON a.execution_id = e.id
        WHERE e.finished_at IS NOT NULL
        GROUP BY e.id, e.attempts
        HAVING e.attempts <> count(a.id) OR coalesce(max(a.number), 0) <> count(a.id)""",
    "two fences for one attempt, or one fence twice": """
        SELECT fence FROM scheduler_app_attempt GROUP BY fence HAVING count(*) > 1""",
    "a lease left behind": "SELECT execution_id FROM scheduler_app_lease",
    "a row that is not over": "SELECT id, status FROM scheduler_app_execution WHERE finished_at IS NULL",
    "more counted attempts than allowed": """
        SELECT id FROM scheduler_app_execution WHERE attempts > max_attempts""",
    "an exhausted row without its dead letter, or the reverse": """
        SELECT e.id FROM scheduler_app_execution e
        LEFT JOIN scheduler_app_deadletter d ON d.execution_id = e.id
        WHERE (e.status IN ('failed', 'timed_out', 'dead_lettered')) <> (d.id IS NOT NULL)""",
    "a start before its time": """
        SELECT id FROM scheduler_app_execution WHERE started_at < scheduled_for""",
    "two runs of an exclusive job at once": """
        SELECT a.execution_id, b.execution_id FROM scheduler_app_attempt a
        JOIN scheduler_app_execution ea ON ea.id = a.execution_id AND ea.exclusive
        JOIN scheduler_app_execution eb ON eb.job_id = ea.job_id AND eb.id <> ea.id AND eb.exclusive
        JOIN scheduler_app_attempt b ON b.execution_id = eb.id
        WHERE a.outcome <> 'lost' AND b.outcome <> 'lost'
          AND a.started_at < b.started_at AND a.finished_at > b.started_at""",
    "a queue job that ran out of slot order": """
        SELECT a.id, b.id FROM scheduler_app_execution a
        JOIN scheduler_app_job j ON j.id = a.job_id AND j.overlap_policy = 'queue'
        JOIN scheduler_app_execution b ON b.job_id = a.job_id AND b.scheduled_for > a.scheduled_for
        JOIN scheduler_app_attempt fa ON fa.execution_id = a.id AND fa.number = 1
        JOIN scheduler_app_attempt fb ON fb.execution_id = b.id AND fb.number = 1
        WHERE fb.started_at < fa.started_at""",
}


def database_faults() -> dict[str, list[tuple[object, ...]]]:
    """Every fault found, by its name, at most ten rows each."""
    found = {}
    with connection.cursor() as cursor:
        for name, statement in FAULTS.items():
            cursor.execute(statement)
            rows = cursor.fetchmany(10)
            if rows:
                found[name] = rows
    return found


def unaccounted_slots(jobs: Iterable[Job]) -> list[str]:
    """Slots between a job's first one and its watermark that have neither a row nor a range."""
    missing = []
    for job in jobs:
        if job.last_slot_for is None:
            missing.append(f"job {job.pk}: nothing materialised")
            continue
        schedule = schedule_of(job)
        assert job.anchor_at is not None
        rows = set(
            Execution.objects.filter(job_id=job.pk, trigger="schedule").values_list(
                "scheduled_for", flat=True
            )
        )
        ranges = list(
            MissedRange.objects.filter(job_id=job.pk).values_list("first_slot_for", "last_slot_for")
        )
        walk = schedule.between(
            job.anchor_at + timedelta(seconds=1), job.last_slot_for + timedelta(seconds=1), 1_000_000
        )
        for slot in walk:
            if slot not in rows and not any(first <= slot <= last for first, last in ranges):
                missing.append(f"job {job.pk}: {slot.isoformat()}")
        following = schedule.next(job.last_slot_for)
        if job.next_run_at != following:
            missing.append(f"job {job.pk}: next run {job.next_run_at}, the schedule says {following}")
        strange = rows - set(walk)
        missing += [f"job {job.pk}: {slot.isoformat()} is no slot" for slot in sorted(strange)]
    return missing


def witness_faults(log: Path) -> list[str]:
    """Effects nobody accounts for: a line whose execution, attempt and fence are unknown, or come twice."""
    recorded = set(Attempt.objects.values_list("execution_id", "number", "fence"))
    seen: set[tuple[int, int, int]] = set()
    faults = []
    for line in log.read_text(encoding="ascii").splitlines():
        execution, attempt, fence, _ = line.split()
        effect = (int(execution), int(attempt), int(fence))
        if effect in seen:
            faults.append(f"effect {effect} happened twice")
        seen.add(effect)
        if effect not in recorded:
            faults.append(f"effect {effect} belongs to no recorded attempt")
    succeeded = set(
        Attempt.objects.filter(outcome="succeeded").values_list("execution_id", "number", "fence")
    )
    faults += [f"attempt {attempt} succeeded without an effect" for attempt in sorted(succeeded - seen)[:10]]
    return faults
