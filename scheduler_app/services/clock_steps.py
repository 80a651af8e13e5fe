"""What a backward step of the database clock asks of the jobs: run again in step, repeat nothing.

Slots made while the clock was ahead stay made. A job whose watermark lies in what is now the future gets the
first slot after now that has neither a row nor a place in a missed range; its watermark stays.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, Q

from scheduler_app.clock import whole_second
from scheduler_app.errors import ScheduleError
from scheduler_app.models import Execution, Job, MissedRange
from scheduler_app.models.choices import Trigger
from scheduler_app.queries.job_schedules import schedule_of
from scheduler_app.services.audit import SYSTEM, AuditLine, record
from scheduler_app.services.transactions import daemon_transaction, on_postgresql

SLOTS_LOOKED_AT = 100_000


def realign_after_step_back(*, now: datetime, step_seconds: float, limit: int = 1_000) -> int:
    """Give jobs that ran ahead their next free slot after now; returns how many moved.

    Locks jobs in id order, a batch at a time; call again while it returns `limit`.
    """
    moved = 0
    with daemon_transaction():
        ahead = Job.objects.filter(
            Q(next_run_at__isnull=True) | Q(next_run_at__gt=F("last_slot_for")),
            enabled=True,
            deleted_at__isnull=True,
            last_slot_for__gt=now,
        ).order_by("id")
        if on_postgresql():
            ahead = ahead.select_for_update(no_key=True, skip_locked=True)
        lines = []
        for job in ahead[:limit]:
            slot = _next_free_slot(job, now)
            if slot is not None and slot != job.next_run_at:
                Job.objects.filter(id=job.id).update(next_run_at=slot)
                back = f"{abs(step_seconds):.0f} s"
                summary = f"the database clock stepped back {back}; next run {slot.isoformat()}"
                lines.append(AuditLine(SYSTEM, "job.clock_step", "job", job.id, job.id, summary))
                moved += 1
        record(lines, now=now)
    return moved


def _next_free_slot(job: Job, now: datetime) -> datetime | None:
    try:
        schedule = schedule_of(job)
    except ScheduleError:
        return None
    taken = set(
        Execution.objects.filter(job_id=job.id, trigger=Trigger.SCHEDULE, scheduled_for__gt=now).values_list(
            "scheduled_for", flat=True
        )[:SLOTS_LOOKED_AT]
    )
    ranges = list(
        MissedRange.objects.filter(job_id=job.id, last_slot_for__gt=now).values_list(
            "first_slot_for", "last_slot_for"
        )
    )
    slot = schedule.next(whole_second(now))
    for _ in range(SLOTS_LOOKED_AT):
        if slot is None:
            return None
        covering = next((last for first, last in ranges if first <= slot <= last), None)
        if covering is None and slot not in taken:
            return slot
        slot = schedule.next(slot if covering is None else max(slot, covering))
    return None
