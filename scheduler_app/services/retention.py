"""Retention: old history goes, in small committed batches, and never makes a slot fire again.

A finished execution goes when it is older than `retention_days` or beyond the newest `retention_count` of
its job (0 switches an axis off). What an open dead letter or an unresolved alert points to stays, and so
does every row whose slot is younger than a day. The watermark of a job is never touched, so a slot that
was accounted for stays accounted for. Finished one-time and deleted jobs go with their last execution.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from scheduler_app.conf import conf
from scheduler_app.models import Alert, DeadLetter, Event, Execution, Job, MissedRange
from scheduler_app.models.choices import AlertStatus, ScheduleType, WorkItemStatus

BATCH_ROWS = 500
KEPT_SLOT = timedelta(days=1)


@dataclass(slots=True)
class PruneResult:
    """How many rows went (or would go, in a dry run)."""

    executions: int = 0
    missed_ranges: int = 0
    events: int = 0
    jobs: int = 0
    dry_run: bool = False

    @property
    def summary(self) -> str:
        """One sentence for people."""
        verb = "would remove" if self.dry_run else "removed"
        return (
            f"{verb} {self.executions} executions, {self.missed_ranges} missed ranges, "
            f"{self.events} events, {self.jobs} jobs"
        )


def prune_history(*, now: datetime, dry_run: bool = False) -> PruneResult:
    """Apply the retention of every job; each batch commits on its own, so an interrupted run resumes."""
    result = PruneResult(dry_run=dry_run)
    for job in Job.objects.order_by("id").iterator(chunk_size=500):
        result.executions += _prune_job(job, now, dry_run)
        result.missed_ranges += _prune_ranges(job, now, dry_run)
    result.events = _prune_events(now, dry_run)
    result.jobs = _prune_jobs(now, dry_run)
    return result


def _removable(job: Job, now: datetime) -> QuerySet[Execution]:
    """Terminal rows of a job that nothing open points to and whose slot is a day old."""
    open_letter = DeadLetter.objects.filter(execution_id=OuterRef("id"), status=WorkItemStatus.OPEN)
    open_alert = Alert.objects.filter(execution_id=OuterRef("id")).exclude(status=AlertStatus.RESOLVED)
    return Execution.objects.filter(
        ~Exists(open_letter),
        ~Exists(open_alert),
        job_id=job.id,
        finished_at__isnull=False,
        scheduled_for__lt=now - KEPT_SLOT,
    )


def _prune_job(job: Job, now: datetime, dry_run: bool) -> int:
    reach = Q()
    if job.retention_days:
        reach |= Q(finished_at__lt=now - timedelta(days=job.retention_days))
    if job.retention_count:
        newest = Execution.objects.filter(job_id=job.id, finished_at__isnull=False).order_by("-id")
        edge = newest.values_list("id", flat=True)[job.retention_count : job.retention_count + 1]
        newest_gone = next(iter(edge), None)
        if newest_gone is not None:
            reach |= Q(id__lte=newest_gone)
    if not reach:
        return 0
    old = _removable(job, now).filter(reach).order_by("id")
    return old.count() if dry_run else _delete_in_batches(old)


def _delete_in_batches(rows: QuerySet[Execution]) -> int:
    total = 0
    while True:
        with transaction.atomic():
            ids = list(rows.values_list("id", flat=True)[:BATCH_ROWS])
            Execution.objects.filter(id__in=ids, finished_at__isnull=False).delete()
        total += len(ids)
        if len(ids) < BATCH_ROWS:
            return total


def _prune_ranges(job: Job, now: datetime, dry_run: bool) -> int:
    if not job.retention_days:
        return 0
    edge = now - max(timedelta(days=job.retention_days), KEPT_SLOT)
    old = MissedRange.objects.filter(job_id=job.id, last_slot_for__lt=edge)
    return old.count() if dry_run else old.delete()[0]


def _prune_events(now: datetime, dry_run: bool) -> int:
    old = Event.objects.filter(at__lt=now - timedelta(days=conf().event_days))
    if dry_run:
        return old.count()
    total = 0
    while True:
        ids = list(old.order_by("id").values_list("id", flat=True)[:BATCH_ROWS])
        Event.objects.filter(id__in=ids).delete()
        total += len(ids)
        if len(ids) < BATCH_ROWS:
            return total


def _prune_jobs(now: datetime, dry_run: bool) -> int:
    edge = now - timedelta(days=conf().finished_job_days)
    has_history = Execution.objects.filter(job_id=OuterRef("id"))
    deleted = Q(deleted_at__lt=edge)
    finished = Q(schedule_type=ScheduleType.ONE_TIME, next_run_at__isnull=True, last_slot_for__lt=edge)
    old = Job.objects.filter(~Exists(has_history)).filter(deleted | finished)
    if dry_run:
        return old.count()
    total = 0
    for job_id in list(old.values_list("id", flat=True)):
        with transaction.atomic():
            found = Job.objects.filter(~Exists(has_history), id=job_id).filter(deleted | finished)
            total += 1 if found.delete()[0] else 0
    return total
