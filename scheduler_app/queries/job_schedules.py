"""The compiled schedule of a stored job, and the slot a job has next.

One compiled form serves validation, preview, materialising and edits; it is cached per distinct definition.
"""

from __future__ import annotations

from datetime import datetime

from scheduler_app.clock import whole_second
from scheduler_app.domain.occurrences import Schedule, compile_schedule
from scheduler_app.models import Job


def schedule_of(job: Job) -> Schedule:
    """The compiled schedule. Raises ScheduleError for a definition that describes none."""
    return compile_schedule(
        schedule_type=job.schedule_type,
        schedule=job.schedule,
        timezone=job.timezone,
        dst_policy=job.dst_policy,
        anchor_at=job.anchor_at,
        starts_at=job.starts_at,
        ends_at=job.ends_at,
    )


def first_slot_after(schedule: Schedule, *, now: datetime, last_slot_for: datetime | None) -> datetime | None:
    """The first slot after now and after every slot already accounted for."""
    base = whole_second(now)
    return schedule.next(base if last_slot_for is None else max(base, last_slot_for))
