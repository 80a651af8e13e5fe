"""Materialise: turn the due slots of jobs into rows, each slot once, and move their pointers.

Rows, missed ranges, `next_run_at` and `last_slot_for` of a batch change in one transaction under the jobs'
locks, so a slot is neither lost nor doubled wherever a process dies. Statements per batch do not grow with
the number of jobs. Locks: jobs FOR NO KEY UPDATE SKIP LOCKED; nothing is awaited meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, transaction

from scheduler_app import events
from scheduler_app.conf import conf
from scheduler_app.domain.delivery_key import slot_delivery_key
from scheduler_app.domain.misfire import DuePlan, MisfireRule, SlotRange, plan_due_slots
from scheduler_app.domain.overlap import OverlapState, decide_overlap
from scheduler_app.models import Job, MissedRange
from scheduler_app.models.choices import Trigger
from scheduler_app.queries.job_schedules import schedule_of
from scheduler_app.services.alerts import NewAlert, raise_alerts
from scheduler_app.services.audit import SYSTEM, AuditLine, record
from scheduler_app.services.transactions import (
    daemon_transaction,
    execute,
    on_postgresql,
    sql_value,
)
from scheduler_app.services.transitions import NewExecution, insert_executions, rank_of
from scheduler_app.services.turns import overlap_states
from scheduler_app.services.wakeups import notify_workers
from scheduler_app.tasks.registry import lane_of

BATCH_JOBS = 1_000
DATABASE_REFUSED = "the database refused its rows"
MISFIRE_SKIPPED = "misfire: found later than its grace of {grace} s"


@dataclass(slots=True)
class TickResult:
    """What one materialise call did. `unfinished` are jobs with slots left for the next tick."""

    jobs: int = 0
    rows: int = 0
    conflicts: int = 0
    faults: int = 0
    unfinished: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A due job, what to do with its slots, and the rows that come of it."""

    job: Job
    plan: DuePlan
    rows: list[NewExecution]


def materialise_due(*, now: datetime, exclude: Iterable[int] = (), limit: int = BATCH_JOBS) -> TickResult:
    """One batch of due jobs, oldest next_run_at first. Call again until `jobs` is below `limit`.

    A batch that the database refuses is split until the bad job stands alone; it gets a fault and an alert.
    Raises OperationalError, InterfaceError or InternalError when the database is away or ended the session,
    or a lock is not to be had.
    """
    skipped = list(exclude)
    try:
        with daemon_transaction():
            return _materialise(_lock_due(now, skipped, limit), now=now)
    except (OperationalError, InterfaceError, InternalError):
        raise
    except DatabaseError as error:
        if limit > 1:
            return _materialise_apart(now, skipped, limit)
        return _hold_refused(now, skipped, error)


def _materialise_apart(now: datetime, skipped: list[int], limit: int) -> TickResult:
    """The same due jobs one by one, so that a bad one cannot take the others with it."""
    total = TickResult()
    for _ in range(limit):
        one = materialise_due(now=now, exclude=[*skipped, *total.unfinished], limit=1)
        if one.jobs == 0:
            break
        total.jobs += one.jobs
        total.rows += one.rows
        total.conflicts += one.conflicts
        total.faults += one.faults
        total.unfinished += one.unfinished
    return total


def _hold_refused(now: datetime, skipped: list[int], error: DatabaseError) -> TickResult:
    with daemon_transaction():
        jobs = _lock_due(now, skipped, 1)
        for job in jobs:
            hold_job(job, fault=f"{DATABASE_REFUSED}: {type(error).__name__}", now=now)
    return TickResult(jobs=len(jobs), faults=len(jobs))


def _lock_due(now: datetime, skipped: list[int], limit: int) -> list[Job]:
    due = Job.objects.filter(
        enabled=True, deleted_at__isnull=True, fault="", next_run_at__isnull=False, next_run_at__lte=now
    ).order_by("next_run_at", "id")
    if skipped:
        due = due.exclude(id__in=skipped)
    if on_postgresql():
        due = due.select_for_update(no_key=True, skip_locked=True)
    return list(due[:limit])


def _materialise(jobs: Sequence[Job], *, now: datetime) -> TickResult:
    result = TickResult(jobs=len(jobs))
    if not jobs:
        return result
    states = overlap_states((job.id for job in jobs if job.is_exclusive), now=now)
    plans: list[JobPlan] = []
    for job in jobs:
        try:
            plans.append(plan_job(job, state=states.get(job.id, OverlapState()), now=now))
        except Exception as error:
            hold_job(job, fault=_sentence(error), now=now)
            result.faults += 1
    inserted = insert_executions([row for plan in plans for row in plan.rows], now=now)
    result.rows = len(inserted)
    result.conflicts = sum(len(plan.rows) for plan in plans) - len(inserted)
    write_ranges(((plan.job.id, found) for plan in plans for found in plan.plan.ranges), now=now)
    advance((plan.job.id, plan.plan.next_run_at, plan.plan.watermark) for plan in plans)
    record([_misfire_line(plan) for plan in plans if plan.plan.misfired], now=now)
    if inserted:
        notify_workers()
    for plan in plans:
        if plan.plan.next_run_at is not None and plan.plan.next_run_at <= now:
            result.unfinished.append(plan.job.id)
    return result


def plan_job(job: Job, *, state: OverlapState, now: datetime) -> JobPlan:
    """What becomes of a due job's slots up to now. Pure but for the job it reads.

    Raises ScheduleError, or ValueError or OverflowError for values no validator lets in.
    """
    assert job.next_run_at is not None
    rule = MisfireRule(job.misfire_policy, job.misfire_grace_seconds, conf().misfire_catch_up_cap)
    plan = plan_due_slots(schedule_of(job), first=job.next_run_at, now=now, rule=rule)
    late = MISFIRE_SKIPPED.format(grace=job.misfire_grace_seconds)
    rows = [slot_row(job, slot, missed_reason=late) for slot in plan.miss]
    decisions = decide_overlap(plan.run, policy=job.overlap_policy, queue_limit=job.queue_limit, state=state)
    coalesced = sum(found.count or 0 for found in plan.ranges if found.reason == "coalesced")
    reason = f"coalesced: stands for {coalesced} earlier slots too" if coalesced else ""
    rows += [
        slot_row(
            job,
            decision.slot,
            missed_reason=decision.missed_reason,
            held_back=decision.held_back,
            reason=reason,
        )
        for decision in decisions
    ]
    return JobPlan(job, plan, rows)


def slot_row(
    job: Job, slot: datetime, *, missed_reason: str = "", held_back: bool = False, reason: str = ""
) -> NewExecution:
    """The execution row of one slot under the job's present definition."""
    return NewExecution(
        job_id=job.id,
        job_version=job.version,
        task=job.task,
        lane=lane_of(job.task),
        trigger=Trigger.SCHEDULE.value,
        scheduled_for=slot,
        available_at=slot,
        rank_at=rank_of(slot, job.priority),
        max_attempts=job.max_attempts,
        exclusive=job.is_exclusive,
        queue=job.queue,
        delivery_key=slot_delivery_key(job.uid, slot),
        missed_reason=missed_reason,
        held_back=held_back,
        reason=reason,
    )


def write_ranges(ranges: Iterable[tuple[int, SlotRange]], *, now: datetime) -> None:
    """Record ranges of slots that get no row of their own, in one statement."""
    MissedRange.objects.bulk_create(
        MissedRange(
            job_id=job_id,
            first_slot_for=found.first,
            last_slot_for=found.last,
            count=found.count,
            reason=found.reason,
            recorded_at=now,
        )
        for job_id, found in ranges
    )


_ADVANCE_POSTGRESQL = (
    "UPDATE scheduler_app_job AS j SET next_run_at = u.next_run_at,"
    " last_slot_for = GREATEST(j.last_slot_for, u.last_slot_for)"
    " FROM unnest(%s::bigint[], %s::timestamptz[], %s::timestamptz[])"
    " AS u(id, next_run_at, last_slot_for) WHERE j.id = u.id"
)
_ADVANCE_SQLITE = (
    "UPDATE scheduler_app_job SET next_run_at = %s,"
    " last_slot_for = MAX(COALESCE(last_slot_for, ''), %s) WHERE id = %s"
)


def advance(pointers: Iterable[tuple[int, datetime | None, datetime]]) -> None:
    """Move next_run_at, and the watermark forward only, of jobs the caller has locked, in one statement."""
    moves = list(pointers)
    if not moves:
        return
    if on_postgresql():
        columns: list[list[Any]] = [list(column) for column in zip(*moves, strict=True)]
        execute(_ADVANCE_POSTGRESQL, columns)
        return
    for job_id, next_run_at, watermark in moves:
        execute(_ADVANCE_SQLITE, [sql_value(next_run_at), sql_value(watermark), job_id])


def hold_job(job: Job, *, fault: str, now: datetime) -> None:
    """Keep a job whose slots cannot be computed out of the tick, with a reason and an alert."""
    Job.objects.filter(id=job.id).update(fault=fault[:500])
    message = f"Job {job.id} ({job.name}) is held: {fault}"
    raise_alerts(
        [NewAlert(f"job_fault:{job.id}", "job_fault", message, job_id=job.id, mode=job.alert_mode)], now=now
    )
    record([AuditLine(SYSTEM, "job.fault", "job", job.id, job.id, message)], now=now)
    transaction.on_commit(lambda: events.emit("job.fault", job_id=job.id, fault=fault), robust=True)


def review_held_jobs(*, now: datetime, limit: int = 100) -> int:
    """Look again at held jobs; those whose rows compute once more go back to the tick.

    A job whose rows the database refused waits for a person.
    """
    released = 0
    with daemon_transaction():
        held = Job.objects.filter(enabled=True, deleted_at__isnull=True, next_run_at__lte=now)
        held = held.exclude(fault="").exclude(fault__startswith=DATABASE_REFUSED).order_by("id")
        if on_postgresql():
            held = held.select_for_update(no_key=True, skip_locked=True)
        for job in held[:limit]:
            try:
                plan_job(job, state=OverlapState(), now=now)
            except Exception:
                continue
            Job.objects.filter(id=job.id).update(fault="")
            record([AuditLine(SYSTEM, "job.fault_cleared", "job", job.id, job.id, job.fault)], now=now)
            released += 1
    return released


def next_due_at() -> datetime | None:
    """The earliest instant at which a job becomes due."""
    return (
        Job.objects.filter(enabled=True, deleted_at__isnull=True, fault="", next_run_at__isnull=False)
        .order_by("next_run_at")
        .values_list("next_run_at", flat=True)
        .first()
    )


def _misfire_line(plan: JobPlan) -> AuditLine:
    ran, missed = len(plan.plan.run), len(plan.plan.miss)
    ranged = sum(found.count or 0 for found in plan.plan.ranges)
    return AuditLine(
        SYSTEM,
        "job.misfire",
        "job",
        plan.job.id,
        plan.job.id,
        f"{plan.job.misfire_policy}: {ran} to run, {missed} missed, {ranged} recorded as a range",
    )


def _sentence(error: Exception) -> str:
    message = str(error) or type(error).__name__
    return f"its next run cannot be computed: {message}"
