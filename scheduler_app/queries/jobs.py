"""Reading jobs: pages by id, newest first, and the runs a stored schedule will make next.

A job whose schedule no longer compiles is still listed and shown; only asking for its runs raises.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import Q

from scheduler_app.domain.occurrences import clock_note
from scheduler_app.domain.zones import load_zone
from scheduler_app.errors import FieldError, NotFound, SchedulerError, ValidationFailed
from scheduler_app.models import Job
from scheduler_app.queries.job_schedules import schedule_of
from scheduler_app.queries.paging import Page, check_limit, decode_cursor, is_searchable, page_of

LONGEST_SEARCH = 200
_LIVE = Q(deleted_at__isnull=True)
_ON = _LIVE & Q(enabled=True)
STATES = {
    "active": _ON & Q(fault="", next_run_at__isnull=False),
    "finished": _ON & Q(fault="", next_run_at__isnull=True),
    "fault": _ON & ~Q(fault=""),
    "disabled": _LIVE & Q(enabled=False),
    "deleted": Q(deleted_at__isnull=False),
}


def list_jobs(
    *,
    limit: int,
    cursor: str | None = None,
    search: str = "",
    state: str | None = None,
    task: str | None = None,
) -> Page[Job]:
    """One page, newest first; deleted jobs only with state `deleted`. `search` is a part of the name.

    Raises ValidationFailed for `limit`, `cursor`, a long `search` or an unknown `state`.
    """
    check_limit(limit)
    if len(search) > LONGEST_SEARCH:
        message = f"must be at most {LONGEST_SEARCH} characters, got {len(search):,}"
        raise ValidationFailed([FieldError("search", "too_long", message)])
    rows = Job.objects.filter(_state_filter(state)).order_by("-pk")
    if cursor:
        rows = rows.filter(pk__lt=decode_cursor(cursor))
    if not (is_searchable(search) and is_searchable(task or "")):
        return Page([], None)
    if search.strip():
        rows = rows.filter(name__icontains=search.strip())
    if task is not None:
        rows = rows.filter(task=task)
    return page_of(list(rows[: limit + 1]), limit, _id)


def get_job(job_id: int) -> Job:
    """One job, also a deleted one, whose history people still read. Raises NotFound."""
    job = Job.objects.filter(pk=job_id).first()
    if job is None:
        raise NotFound(f"no job {job_id}; `job list` shows the ids")
    return job


def describe_schedule(job: Job) -> str:
    """The schedule in words, or what is wrong with it; never raises."""
    try:
        return schedule_of(job).describe()
    except SchedulerError as broken:
        return f"broken: {broken.message}"


def upcoming(job: Job, now: datetime, count: int) -> list[tuple[datetime, str, str]]:
    """The next `count` slots after `now` not accounted for yet: (instant, local time with offset, note).

    Empty for a deleted job; a disabled job shows what it would do. Raises ScheduleError.
    """
    if job.deleted_at is not None:
        return []
    schedule = schedule_of(job)
    zone = load_zone(job.timezone)
    runs: list[tuple[datetime, str, str]] = []
    at = schedule.next(max(now, job.last_slot_for or now))
    while at is not None and len(runs) < count:
        runs.append((at, local_text(at, zone), clock_note(schedule, at)))
        at = schedule.next(at)
    return runs


def note_of(job: Job, at: datetime) -> str:
    """What is special about the local time of a slot, or nothing. Raises ScheduleError."""
    return clock_note(schedule_of(job), at)


def local_text(at: datetime, zone: ZoneInfo) -> str:
    """An instant on the clock of a zone, with offset and abbreviation: `2026-11-01 01:30:00 -04:00 EDT`."""
    local = at.astimezone(zone)
    name = local.tzname() or ""
    text = f"{local:%Y-%m-%d %H:%M:%S} {local.isoformat()[19:]}"
    return f"{text} {name}" if name.isalpha() else text


def _id(job: Job) -> int:
    return job.pk


def _state_filter(state: str | None) -> Q:
    if state is None:
        return _LIVE
    if state not in STATES:
        message = f"{state!r} is no state of a job; choose from {', '.join(STATES)}"
        raise ValidationFailed([FieldError("state", "unknown_state", message)])
    return STATES[state]
