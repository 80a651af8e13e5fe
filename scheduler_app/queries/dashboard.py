"""Reads of the dashboard and of the run bars: each statement is bounded by an index and a limit.

Nothing here counts or scans history. What would need a full count stops at a bound and says so; rates and
lags are those of the last `SAMPLE` executions, taken by id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db.models import Max, OuterRef, Q, QuerySet, Subquery

from scheduler_app.domain.states import Status
from scheduler_app.models import Alert, DeadLetter, Execution, Heartbeat, Job, Lease, Pause

COUNTED_AT_MOST = 1000
ALERTS_SHOWN_AT_MOST = 99
SAMPLE = 500
BARS = 30
STALE_BEATS = 3

_SPOKEN = (Status.SUCCEEDED, Status.FAILED, Status.TIMED_OUT, Status.DEAD_LETTERED)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A count that stopped at a bound: `1,000+` when there is more."""

    value: int
    more: bool

    def __str__(self) -> str:
        return f"{self.value:,}+" if self.more else f"{self.value:,}"

    def __bool__(self) -> bool:
        return self.value > 0


@dataclass(frozen=True, slots=True)
class Tiles:
    """The six figures on top of the dashboard. Rates 0..1, lag in seconds; None when nothing was measured."""

    running: Bounded
    queued: Bounded
    oldest_due_at: datetime | None
    dead_letters: Bounded
    success_rate: float | None
    sampled: int
    start_lag_p95: float | None
    schedulers: int
    workers: int
    slots: int
    last_scheduler_beat_at: datetime | None
    last_worker_beat_at: datetime | None


Countable = QuerySet[Execution] | QuerySet[Lease] | QuerySet[DeadLetter]


def bounded_count(rows: Countable, limit: int = COUNTED_AT_MOST) -> Bounded:
    """Count up to `limit` rows; the database stops reading there."""
    found = rows.order_by()[: limit + 1].count()
    return Bounded(min(found, limit), found > limit)


def count_open_alerts() -> int:
    """Alerts neither acknowledged nor resolved, at most ALERTS_SHOWN_AT_MOST + 1."""
    return Alert.objects.filter(status="open").order_by()[: ALERTS_SHOWN_AT_MOST + 1].count()


def count_waiting(job_id: int) -> int:
    """Rows that disabling or deleting a job would cancel: queued, held back, claimed; exact to 10,000."""
    waiting = Execution.objects.filter(job_id=job_id).filter(Q(claim_at__isnull=False) | Q(held_back=True))
    claimed = Execution.objects.filter(job_id=job_id, lease__isnull=False, status=Status.CLAIMED)
    return waiting.order_by()[:10_000].count() + claimed.order_by()[:10_000].count()


def tiles(*, now: datetime) -> Tiles:
    """The figures of this moment, in seven short statements."""
    waiting = Execution.objects.filter(Q(claim_at__isnull=False) | Q(held_back=True))
    due = Execution.objects.filter(claim_at__isnull=False, claim_at__lte=now).order_by("rank_at")
    oldest = min(due.values_list("available_at", flat=True)[:COUNTED_AT_MOST], default=None)
    rate, sampled, lag = _recent_figures()
    beats = dict(Heartbeat.objects.order_by().values_list("kind").annotate(at=Max("beat_at")))
    living = Heartbeat.objects.filter(alive_until__gt=now)
    alive = list(living.values_list("kind", "slots")[:COUNTED_AT_MOST])
    return Tiles(
        running=bounded_count(Lease.objects.all()),
        queued=bounded_count(waiting),
        oldest_due_at=oldest,
        dead_letters=bounded_count(DeadLetter.objects.filter(status="open")),
        success_rate=rate,
        sampled=sampled,
        start_lag_p95=lag,
        schedulers=sum(kind == "scheduler" for kind, _ in alive),
        workers=sum(kind == "worker" for kind, _ in alive),
        slots=sum(slots for kind, slots in alive if kind == "worker"),
        last_scheduler_beat_at=beats.get("scheduler"),
        last_worker_beat_at=beats.get("worker"),
    )


def recent_activity(limit: int) -> list[Execution]:
    """The newest executions of all jobs."""
    return list(Execution.objects.select_related("job").order_by("-pk")[:limit])


def next_jobs(limit: int) -> list[Job]:
    """Jobs by their next run, soonest first."""
    return list(_due_jobs()[:limit])


def open_alerts(limit: int) -> list[Alert]:
    """Unresolved alerts, last seen first, each with its job and execution."""
    rows = Alert.objects.filter(~Q(status="resolved")).select_related("job", "execution")
    return list(rows.order_by("-last_seen_at", "-pk")[:limit])


def jobs_panel(limit: int, keep: Sequence[int] = ()) -> list[Job]:
    """Jobs with an unresolved alert first, then those that run next, then the newest of the rest.

    Ids in `keep` come before all others in their order, so that the rows a reader sees stay in place.
    """
    alarmed = Alert.objects.filter(~Q(status="resolved"), job__isnull=False).order_by("-last_seen_at", "-pk")
    wanted = [*keep, *alarmed.values_list("job_id", flat=True)[: limit * 4]]
    wanted = list(dict.fromkeys(wanted))[:limit]
    by_id = Job.objects.filter(deleted_at__isnull=True).in_bulk(wanted)
    panel = [by_id[pk] for pk in wanted if pk in by_id]
    for more in (_due_jobs(), Job.objects.filter(deleted_at__isnull=True).order_by("-pk")):
        if len(panel) < limit:
            seen = {job.pk for job in panel}
            panel += [job for job in more[: limit + len(seen)] if job.pk not in seen]
    return panel[:limit]


def jobs_exceed(limit: int) -> bool:
    """Whether more live jobs exist than `limit`."""
    return Job.objects.filter(deleted_at__isnull=True).order_by()[: limit + 1].count() > limit


def last_runs(job_ids: Collection[int], per_job: int = BARS) -> dict[int, list[Execution]]:
    """The last executions of each job, oldest first, for all jobs in two statements.

    The first finds, by index, the id where each job's last `per_job` rows begin; the second reads from there.
    """
    if not job_ids:
        return {}
    nth = Execution.objects.filter(job=OuterRef("pk")).order_by("-pk").values("pk")[per_job - 1 : per_job]
    starts = Job.objects.filter(pk__in=job_ids).annotate(start=Subquery(nth)).values_list("pk", "start")
    parts = [Q(job_id=pk, pk__gte=start or 0) for pk, start in starts]
    runs: dict[int, list[Execution]] = defaultdict(list)
    if parts:
        columns = ("job_id", "status", "started_at", "finished_at", "scheduled_for")
        for execution in Execution.objects.filter(reduce(or_, parts)).only(*columns).order_by("pk"):
            runs[execution.job_id].append(execution)
    return dict(runs)


def newer_executions(after_id: int, statuses: Collection[str], job_id: int | None) -> Bounded:
    """How many executions of a filter came after an id, to a bound."""
    rows = Execution.objects.filter(pk__gt=after_id)
    if statuses:
        rows = rows.filter(status__in=sorted(statuses))
    if job_id is not None:
        rows = rows.filter(job_id=job_id)
    return bounded_count(rows)


def pause_of_everything(*, now: datetime) -> Pause | None:
    """The pause that holds all claims, when there is one."""
    return Pause.objects.filter(Q(scope="all") & (Q(until__isnull=True) | Q(until__gt=now))).first()


def _due_jobs() -> QuerySet[Job]:
    due = Job.objects.filter(enabled=True, deleted_at__isnull=True, fault="", next_run_at__isnull=False)
    return due.order_by("next_run_at", "pk")


def _recent_figures() -> tuple[float | None, int, float | None]:
    """(success rate, rows behind it, p95 of start lag in seconds) of the last SAMPLE executions."""
    columns = ("status", "trigger", "scheduled_for", "started_at", "attempts")
    rows = list(Execution.objects.order_by("-pk").values_list(*columns)[:SAMPLE])
    ended = [status for status, *_ in rows if status in _SPOKEN]
    rate = ended.count(Status.SUCCEEDED) / len(ended) if ended else None
    lags = sorted(
        (started - due) / timedelta(seconds=1)
        for _, trigger, due, started, attempts in rows
        if trigger == "schedule" and started is not None and attempts == 1
    )
    return rate, len(ended), lags[min(len(lags) - 1, int(len(lags) * 0.95))] if lags else None
