"""Verbs on job definitions: create, edit, enable, disable, delete; each one transaction and one version.

Locks: the job FOR NO KEY UPDATE, then (in a later statement, so that rows inserted before the lock are
seen) its executions in id order. An operator verb reads the clock after it has the job lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from scheduler_app.clock import database_now, iso, whole_second
from scheduler_app.domain.misfire import RANGE_COUNT_LIMIT, SlotRange
from scheduler_app.domain.occurrences import Schedule
from scheduler_app.domain.states import CANCELLABLE, Status
from scheduler_app.errors import Conflict, NotFound, ScheduleError
from scheduler_app.models import Job, JobVersion, Lease
from scheduler_app.models.choices import ScheduleType
from scheduler_app.models.job import DEFINITION_FIELDS, SCHEDULE_FIELDS
from scheduler_app.queries.job_schedules import first_slot_after, schedule_of
from scheduler_app.services.audit import AuditLine, definition_diff, record
from scheduler_app.services.job_definition import validate_edit, validate_new_job
from scheduler_app.services.scheduling import plan_job, write_ranges
from scheduler_app.services.transactions import on_postgresql
from scheduler_app.services.transitions import apply, ended, insert_executions, lock_rows, unfinished_ids
from scheduler_app.services.turns import overlap_states
from scheduler_app.services.wakeups import notify_schedulers, notify_workers


@dataclass(frozen=True, slots=True)
class DisableResult:
    """The job after it was stopped, and how many queued rows were cancelled with it."""

    job: Job
    cancelled: int


def create_job(*, values: Mapping[str, object], actor: str, now: datetime | None = None) -> Job:
    """Store a new job. Raises ValidationFailed for a bad field, Conflict when its name or key is taken."""
    at = now or database_now()
    definition = validate_new_job(values, now=at)
    job = Job(**definition.columns, created_at=at, updated_at=at)
    job.next_run_at = _first_run(job, definition.schedule, now=at)
    with transaction.atomic():
        _save_new(job)
        _write_version(job, "create", before=None, actor=actor, why="", now=at)
        notify_schedulers()
    return job


def _save_new(job: Job) -> None:
    _refuse_taken_key(job)
    try:
        with transaction.atomic():
            job.save(force_insert=True)
    except IntegrityError:
        raise _taken(job) from None


def _refuse_taken_key(job: Job) -> None:
    taken = Job.objects.filter(key=job.key).exclude(id=job.id) if job.key else Job.objects.none()
    other = taken.first()
    if other is not None:
        raise Conflict(f"key: {job.key!r} is taken by job {other.id}; choose another key")


def _taken(job: Job) -> Conflict:
    other = (
        Job.objects.filter(deleted_at__isnull=True)
        .exclude(schedule_type=ScheduleType.ONE_TIME)
        .filter(name__iexact=job.name)
        .exclude(id=job.id)
        .first()
    )
    if other is not None:
        return Conflict(
            f"name: {job.name!r} is taken by job {other.id}; choose another name or edit that job"
        )
    return Conflict(f"name or key of {job.name!r} is taken by another job; choose another")


def lock_job(job_id: int) -> Job:
    """The live job, locked until the transaction ends. Raises NotFound, also for a deleted job."""
    rows = Job.objects.filter(id=job_id, deleted_at__isnull=True)
    if on_postgresql():
        rows = rows.select_for_update(no_key=True)
    job = rows.first()
    if job is None:
        was_there = Job.objects.filter(id=job_id).exists()
        raise NotFound(f"job {job_id} was deleted" if was_there else f"no job {job_id}")
    return job


def edit_job(
    *,
    job_id: int,
    values: Mapping[str, object],
    actor: str,
    expected_version: int | None = None,
    why: str = "",
    now: datetime | None = None,
) -> Job:
    """Change a job's definition from now on; never a slot of the past.

    A change of schedule, zone or window first settles the slots the old definition still owes, then takes
    the first slot after now. `enabled` in `values` enables or disables as those verbs do.
    Raises NotFound, ValidationFailed, Conflict (version moved on, name taken, completed one-time job).
    """
    with transaction.atomic():
        job = lock_job(job_id)
        at = now or database_now()
        if expected_version is not None and expected_version != job.version:
            raise Conflict(
                f"job {job_id} is at version {job.version} by now, the edit was made on version "
                f"{expected_version}; load it again and repeat the change"
            )
        current = {field: getattr(job, field) for field in DEFINITION_FIELDS}
        definition = validate_edit(values, current=current, now=at)
        before = job.definition()
        moves = any(definition.columns[name] != current[name] for name in SCHEDULE_FIELDS)
        if moves:
            _settle(job, now=at)
        for name, value in definition.columns.items():
            if name != "enabled":
                setattr(job, name, value)
        if moves:
            job.next_run_at = _first_run(job, definition.schedule, now=at)
        if job.definition() != before:
            # The definition is valid as a whole by now, so the tick may look at it again.
            job.fault = ""
            _save_change(job, "edit", before=before, actor=actor, why=why, now=at)
        if definition.columns["enabled"] and not job.enabled:
            return enable_job(job_id=job_id, actor=actor, why=why, now=at)
        if job.enabled and not definition.columns["enabled"]:
            return disable_job(job_id=job_id, actor=actor, why=why, now=at).job
    return job


def _first_run(job: Job, schedule: Schedule, *, now: datetime) -> datetime | None:
    """The first slot under a definition that holds from now on.

    A one-time job may be given an instant that passed within its grace (due at once), or one before its
    watermark (the edit names a new occasion); recurring jobs go on after every slot accounted for.
    """
    if job.schedule_type == ScheduleType.ONE_TIME:
        return schedule.next(whole_second(now) - timedelta(seconds=job.misfire_grace_seconds + 1))
    return first_slot_after(schedule, now=now, last_slot_for=job.last_slot_for)


def _settle(job: Job, *, now: datetime) -> None:
    """Account for the due slots of the definition that is about to change, with the tick's own function."""
    if job.next_run_at is None or job.next_run_at > now:
        return
    if job.fault or not job.enabled:
        # A definition that describes no schedule owes no slots.
        with suppress(ScheduleError):
            _write_off(job, now=now)
        return
    state = overlap_states([job.id], now=now)[job.id]
    plan = plan_job(job, state=state, now=now)
    insert_executions(plan.rows, now=now)
    ranges = list(plan.plan.ranges)
    watermark = plan.plan.watermark
    left = plan.plan.next_run_at
    if left is not None and left <= now:
        found = _range_until(job, left, now, "edited")
        ranges.append(found)
        watermark = found.last
    write_ranges(((job.id, found) for found in ranges), now=now)
    job.last_slot_for = watermark
    notify_workers()


def _range_until(job: Job, first: datetime, now: datetime, reason: str) -> SlotRange:
    schedule = schedule_of(job)
    last = schedule.previous(whole_second(now) + timedelta(seconds=1)) or first
    last = max(first, last)
    return SlotRange(first, last, schedule.count(first, last, RANGE_COUNT_LIMIT), reason)


def _write_off(job: Job, *, now: datetime) -> None:
    """Record the slots that passed while the job was disabled or held as one range."""
    if job.next_run_at is not None and job.next_run_at <= now:
        passed = _range_until(job, job.next_run_at, now, "fault" if job.fault else "disabled")
        write_ranges([(job.id, passed)], now=now)
        job.last_slot_for = passed.last


def enable_job(*, job_id: int, actor: str, why: str = "", now: datetime | None = None) -> Job:
    """Let a job run again from its first slot after now; slots that passed meanwhile become one range.

    Raises NotFound, Conflict for a completed one-time job (it needs a new run_at). No-op when enabled.
    """
    with transaction.atomic():
        job = lock_job(job_id)
        at = now or database_now()
        _refuse_completed(job, at)
        if job.enabled:
            return job
        before = job.definition()
        _write_off(job, now=at)
        job.enabled = True
        job.next_run_at = first_slot_after(schedule_of(job), now=at, last_slot_for=job.last_slot_for)
        job.fault = ""
        _save_change(job, "enable", before=before, actor=actor, why=why, now=at)
    return job


def _refuse_completed(job: Job, now: datetime) -> None:
    if job.schedule_type != ScheduleType.ONE_TIME:
        return
    passed = not job.enabled and job.next_run_at is not None and job.next_run_at <= now
    if job.is_completed or passed:
        raise Conflict(
            f"job {job.id} is a one-time job whose time {job.schedule.get('run_at')} has passed; "
            "give it a new run_at or add a new job"
        )


def disable_job(*, job_id: int, actor: str, why: str = "", now: datetime | None = None) -> DisableResult:
    """Stop a job: queued rows are cancelled, a running one goes on, next_run_at is kept."""
    with transaction.atomic():
        job = lock_job(job_id)
        if not job.enabled:
            return DisableResult(job, 0)
        return _stop(job, "disable", actor=actor, why=why, now=now or database_now())


def delete_job(*, job_id: int, actor: str, why: str = "", now: datetime | None = None) -> DisableResult:
    """Take a job away for good: queued rows are cancelled, its history stays until retention."""
    with transaction.atomic():
        return _stop(lock_job(job_id), "delete", actor=actor, why=why, now=now or database_now())


def _stop(job: Job, action: str, *, actor: str, why: str, now: datetime) -> DisableResult:
    """Disable a locked job, and with `delete` take its key and mark it deleted."""
    before = job.definition()
    job.enabled = False
    if action == "delete":
        job.deleted_at = now
        job.key = None
    cancelled = _cancel_queued(job, f"job {action}d by {actor}", now=now)
    note = f"{cancelled} queued rows cancelled"
    _save_change(job, action, before=before, actor=actor, why=why, now=now, note=note)
    return DisableResult(job, cancelled)


def _cancel_queued(job: Job, reason: str, *, now: datetime) -> int:
    """Cancel what waits or is claimed but not started; returns how many."""
    rows = lock_rows(unfinished_ids(job.id))
    cancellable = [row for row in rows.values() if Status(row.status) in CANCELLABLE]
    done = apply([ended(row, status=Status.CANCELLED, reason=reason, now=now) for row in cancellable])
    Lease.objects.filter(execution_id__in=done).delete()
    return len(done)


def _save_change(
    job: Job,
    action: str,
    *,
    before: Mapping[str, object],
    actor: str,
    why: str,
    now: datetime,
    note: str = "",
) -> None:
    job.version += 1
    job.updated_at = now
    try:
        with transaction.atomic():
            job.save(force_update=True)
    except IntegrityError:
        raise _taken(job) from None
    _write_version(job, action, before=before, actor=actor, why=why, now=now, note=note)
    notify_schedulers()


def _write_version(
    job: Job,
    action: str,
    *,
    before: Mapping[str, object] | None,
    actor: str,
    why: str,
    now: datetime,
    note: str = "",
) -> None:
    after = job.definition()
    JobVersion.objects.create(
        job=job,
        version=job.version,
        action=action,
        before=dict(before) if before is not None else None,
        after=after,
        actor=actor[:200],
        why=why,
        effective_at=now,
    )
    summary = "; ".join(part for part in (note, why, f"next run {iso(job.next_run_at)}") if part)
    line = AuditLine(actor, f"job.{action}", "job", job.id, job.id, summary, definition_diff(before, after))
    record([line], now=now)
