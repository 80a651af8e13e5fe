"""Whether the machinery works: measured checks for `health`, the health page and /readyz.

A check is `name`, `status` (ok, degraded, down) and `detail`, which says what to do when it is not ok. The
worst check is the verdict. Nothing here raises when the database is away, shows a secret, or waits for an
answer longer than `PROBE_SECONDS`, and what is counted is counted up to a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TypedDict

from django.db import Error as DatabaseError
from django.db import connection, transaction

from scheduler_app.clock import read_clock
from scheduler_app.conf import conf
from scheduler_app.domain.zones import tzdata_release
from scheduler_app.models import Heartbeat, Job, Lease
from scheduler_app.models.choices import ProcessKind
from scheduler_app.queries.probes import (
    PROBE_SECONDS,
    Unreachable,
    probe_database,
    probe_redis,
    system_zone_release,
    unapplied_migrations,
)

OK, DEGRADED, DOWN = "ok", "degraded", "down"
SLOW_DATABASE_SECONDS = 1.0
OVERDUE_SECONDS = 60
RECOVERY_SECONDS = 15
BOUND = 1000

_START = {
    ProcessKind.SCHEDULER: "start one with `python manage.py scheduler run`",
    ProcessKind.WORKER: "start one with `python manage.py worker run`",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    name: str
    status: str
    detail: str


class Report(TypedDict):
    """What `health` answers: the worst status, and each check with `name`, `status`, `detail`."""

    status: str
    checks: list[dict[str, str]]


Question = Callable[[datetime], Check]


def health_report() -> Report:
    """Everything that is measured, with the worst status as the verdict."""
    checks = [_database()]
    if checks[0].status != DOWN:
        checks += _asked([_migrations])
    if all(check.status != DOWN for check in checks):
        checks += _asked([_schedulers, _workers, _overdue, _faults, _leases, _zone_data])
    checks += _redis()
    if connection.vendor == "sqlite":
        checks.append(_try_out_store())
    return {"status": _worst(checks), "checks": [asdict(check) for check in checks]}


def readiness() -> tuple[bool, list[dict[str, str]]]:
    """Whether this process can serve, and the checks: database, schema, Redis, heartbeats when required."""
    record = conf()
    checks = [_database()]
    if checks[0].status != DOWN:
        asked: list[Question] = [_migrations]
        if record.readyz_require_heartbeats:
            asked.append(_schedulers)
        if record.readyz_require_worker_heartbeat:
            asked.append(_workers)
        checks += _asked(asked)
    ready = all(check.status != DOWN for check in checks)
    redis = _redis()
    if not record.readyz_redis_optional:
        ready = ready and all(check.status == OK for check in redis)
    return ready, [asdict(check) for check in checks + redis]


def _worst(checks: list[Check]) -> str:
    found = {check.status for check in checks}
    return next(status for status in (DOWN, DEGRADED, OK) if status in found)


def _asked(questions: list[Question]) -> list[Check]:
    """The answers in order; a database that fails in between gives one line instead of the rest."""
    answers: list[Check] = []
    try:
        with _limited_statements():
            now = read_clock().now
            answers.extend(question(now) for question in questions)
    except DatabaseError as error:
        reason = type(error).__name__
        answers.append(
            Check("database", DOWN, f"the database failed while it was asked ({reason}); ask again")
        )
    return answers


@contextmanager
def _limited_statements() -> Iterator[None]:
    """No statement takes longer than PROBE_SECONDS. On SQLite a transaction would lock out writers."""
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {int(PROBE_SECONDS * 1000)}")
        yield


def _database() -> Check:
    try:
        seconds = probe_database()
    except Unreachable as refusal:
        return Check("database", DOWN, str(refusal))
    answered = f"answered in {seconds * 1000:.0f} ms"
    if seconds > SLOW_DATABASE_SECONDS:
        limit = SLOW_DATABASE_SECONDS * 1000
        return Check("database", DEGRADED, f"{answered}, more than {limit:.0f} ms; look at its load")
    return Check("database", OK, answered)


def _migrations(now: datetime) -> Check:
    missing = unapplied_migrations()
    if not missing:
        return Check("migrations", OK, "all applied")
    names = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
    return Check("migrations", DOWN, f"{len(missing)} not applied ({names}); run `python manage.py migrate`")


def _schedulers(now: datetime) -> Check:
    return _heartbeats(now, ProcessKind.SCHEDULER, "schedulers")


def _workers(now: datetime) -> Check:
    return _heartbeats(now, ProcessKind.WORKER, "workers")


def _heartbeats(now: datetime, kind: ProcessKind, name: str) -> Check:
    """Alive is what the database clock says; a process that shuts down no longer counts as one that works."""
    alive = Heartbeat.objects.filter(kind=kind, alive_until__gt=now, draining=False)
    rows = list(alive.values_list("slots", "running")[:BOUND])
    if rows:
        detail = f"{len(rows)} alive"
        if kind == ProcessKind.WORKER:
            detail += (
                f", {sum(running for _, running in rows)} of {sum(slots for slots, _ in rows)} slots busy"
            )
        return Check(name, OK, detail)
    last = Heartbeat.objects.filter(kind=kind).order_by("-beat_at").values_list("beat_at", flat=True).first()
    seen = f"last sign of life {last:%Y-%m-%dT%H:%M:%SZ}" if last else "no sign of life on record"
    return Check(name, DOWN, f"no {kind} is alive ({seen}); {_START[kind]}")


def _overdue(now: datetime) -> Check:
    due = Job.objects.filter(enabled=True, deleted_at__isnull=True, fault="", next_run_at__isnull=False)
    late = due.filter(next_run_at__lt=now - timedelta(seconds=OVERDUE_SECONDS))
    ids = list(late.order_by("next_run_at").values_list("pk", flat=True)[: BOUND + 1])
    if not ids:
        return Check("overdue_jobs", OK, f"no job is more than {OVERDUE_SECONDS} s behind its schedule")
    detail = (
        f"{_bounded(len(ids))} behind their schedule by more than {OVERDUE_SECONDS} s, first job {ids[0]}"
    )
    return Check("overdue_jobs", DEGRADED, f"{detail}; see whether a scheduler runs and what its log says")


def _faults(now: datetime) -> Check:
    held = Job.objects.filter(enabled=True, deleted_at__isnull=True).exclude(fault="")
    ids = list(held.order_by("pk").values_list("pk", flat=True)[: BOUND + 1])
    if not ids:
        return Check("job_faults", OK, "no job is held by a fault")
    return Check(
        "job_faults",
        DEGRADED,
        f"{_bounded(len(ids))} held by a fault; see `job show {ids[0]}`, edit or disable it",
    )


def _leases(now: datetime) -> Check:
    """Recovery takes a lease within seconds of its end; what is older waits for a scheduler in vain."""
    overdue = now - timedelta(seconds=RECOVERY_SECONDS)
    count = len(Lease.objects.filter(lease_expires_at__lt=overdue).values_list("pk", flat=True)[: BOUND + 1])
    lost = _leases_of_dead_workers(overdue)
    if not count and not lost:
        return Check("leases", OK, "no expired lease waits for recovery")
    detail = f"{_bounded(count + lost)} of lost work wait for recovery by a scheduler; see whether one runs"
    return Check("leases", DEGRADED, detail)


def _leases_of_dead_workers(overdue: datetime) -> int:
    """Leases whose worker fell silent at `overdue` or before, or has no heartbeat row any more."""
    living = Heartbeat.objects.filter(alive_until__gte=overdue).values("incarnation")
    young = Lease.objects.filter(lease_expires_at__gte=overdue, acquired_at__lt=overdue)
    return len(young.exclude(worker__in=living).values_list("pk", flat=True)[: BOUND + 1])


def _zone_data(now: datetime) -> Check:
    alive = Heartbeat.objects.filter(alive_until__gt=now).values_list("tzdata_release", flat=True)
    releases = sorted(set(alive.order_by().distinct()[:BOUND]) | {tzdata_release()})
    if len(releases) == 1:
        system = system_zone_release()
        unused = (
            f"; the system's own copy is {system} and is not used" if system not in ("", releases[0]) else ""
        )
        return Check("zone_data", OK, f"tzdata {releases[0]} in every live process{unused}")
    detail = (
        f"live processes use different tzdata ({', '.join(releases)}); install the same lock on all hosts"
    )
    return Check("zone_data", DEGRADED, detail)


def _redis() -> list[Check]:
    """Redis speeds up pages only, so without it the product is slower, not down."""
    url = conf().redis_url
    if not url:
        return []
    try:
        seconds = probe_redis(url)
    except Unreachable as refusal:
        return [Check("redis", DEGRADED, f"{refusal}; pages are computed without a cache")]
    return [Check("redis", OK, f"answered in {seconds * 1000:.0f} ms")]


def _try_out_store() -> Check:
    detail = "SQLite is the try-out store, for processes of one host; set DATABASE_URL for real work"
    return Check("store", OK, detail)


def _bounded(count: int) -> str:
    return f"more than {BOUND}" if count > BOUND else str(count)
