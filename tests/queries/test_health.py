"""Health is measured: each part that fails is named with what to do, and nothing waits or raises."""

from __future__ import annotations

import dataclasses
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from scheduler_app.clock import database_now
from scheduler_app.domain.zones import tzdata_release
from scheduler_app.queries import probes
from scheduler_app.queries.health import health_report, readiness
from scheduler_app.queries.probes import Unreachable, probe_database, probe_redis, unapplied_migrations
from tests.harness.redis_server import RedisServer
from tests.queries.rows import NOON, make_execution, make_heartbeat, make_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def live_processes() -> None:
    later = database_now() + timedelta(seconds=45)
    make_heartbeat("scheduler", alive_until=later, tzdata_release=tzdata_release())
    make_heartbeat("worker", alive_until=later, tzdata_release=tzdata_release(), slots=4, running=1)


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _check(name: str, report: Any = None) -> dict[str, str]:
    found = [check for check in (report or health_report())["checks"] if check["name"] == name]
    assert len(found) == 1, found
    return found[0]


def _configure(settings: Settings, **values: Any) -> None:
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, **values)


@pytest.mark.usefixtures("live_processes")
def test_all_well_is_ok_in_every_check() -> None:
    report = health_report()

    assert report["status"] == "ok"
    assert {check["status"] for check in report["checks"]} == {"ok"}
    assert all(list(check) == ["name", "status", "detail"] for check in report["checks"])
    assert _check("workers", report)["detail"] == "1 alive, 1 of 4 slots busy"


@pytest.mark.usefixtures("live_processes")
def test_the_try_out_store_says_what_it_is() -> None:
    named = [check["name"] for check in health_report()["checks"]]

    assert ("store" in named) == (connection.vendor == "sqlite")


@pytest.mark.parametrize("kind", ["scheduler", "worker"])
def test_without_a_live_process_the_report_is_down_and_says_how_to_start_one(kind: str) -> None:
    make_heartbeat(kind, alive_until=database_now() - timedelta(seconds=1))

    check = _check(f"{kind}s")

    assert check["status"] == health_report()["status"] == "down"
    assert f"manage.py {kind} run" in check["detail"]
    assert "2026-01-02T12:00:00Z" in check["detail"]


def test_a_draining_worker_is_no_worker() -> None:
    make_heartbeat("worker", alive_until=database_now() + timedelta(seconds=45), draining=True)

    assert _check("workers")["status"] == "down"


@pytest.mark.usefixtures("live_processes")
def test_a_job_behind_its_schedule_is_named() -> None:
    late = make_job(next_run_at=database_now() - timedelta(seconds=90))
    make_job(next_run_at=database_now() - timedelta(seconds=90), enabled=False)
    make_job(next_run_at=database_now() - timedelta(seconds=30))

    report = health_report()

    assert report["status"] == _check("overdue_jobs", report)["status"] == "degraded"
    assert f"first job {late.pk}" in _check("overdue_jobs", report)["detail"]
    assert _check("overdue_jobs", report)["detail"].startswith("1 behind")


@pytest.mark.usefixtures("live_processes")
def test_a_job_held_by_a_fault_is_named() -> None:
    held = make_job(fault="the zone is unknown", next_run_at=NOON)

    assert _check("job_faults")["status"] == "degraded"
    assert f"job show {held.pk}" in _check("job_faults")["detail"]
    assert _check("overdue_jobs")["status"] == "ok"


@pytest.mark.usefixtures("live_processes")
def test_a_lease_nobody_recovers_is_told() -> None:
    make_execution(make_job(), "running")

    assert _check("leases")["status"] == "degraded"


@pytest.mark.usefixtures("live_processes")
def test_a_lease_of_a_dead_worker_is_told_before_it_ends() -> None:
    now = database_now()
    lease = make_execution(make_job(), "running").lease
    lease.acquired_at, lease.lease_expires_at = now - timedelta(minutes=5), now + timedelta(minutes=5)
    lease.worker = uuid.uuid4()
    lease.save()

    assert _check("leases")["status"] == "degraded"
    make_heartbeat("worker", alive_until=now + timedelta(seconds=45), incarnation=lease.worker)
    assert _check("leases")["status"] == "ok"


@pytest.mark.usefixtures("live_processes")
def test_live_processes_with_other_zone_data_are_told() -> None:
    make_heartbeat("worker", alive_until=database_now() - timedelta(seconds=1), tzdata_release="2001a")
    assert _check("zone_data")["status"] == "ok"
    make_heartbeat("worker", alive_until=database_now() + timedelta(seconds=45), tzdata_release="1999z")

    assert _check("zone_data")["status"] == "degraded"
    assert "1999z" in _check("zone_data")["detail"] and "2001a" not in _check("zone_data")["detail"]


def test_a_migration_that_is_missing_takes_the_product_down_and_is_named() -> None:
    MigrationRecorder(connection).record_unapplied("scheduler_app", "0001_initial")

    assert unapplied_migrations() == ["scheduler_app.0001_initial"]
    assert _check("migrations")["status"] == health_report()["status"] == "down"
    assert "manage.py migrate" in _check("migrations")["detail"]
    assert readiness()[0] is False


@pytest.mark.usefixtures("live_processes")
def test_the_cost_of_a_report_does_not_grow_with_the_rows() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            health_report()
        return len(captured)

    before = queries()
    for _ in range(20):
        make_execution(make_job(fault="x"), "running")
        make_heartbeat("worker", alive_until=database_now() + timedelta(seconds=45))

    assert queries() == before


def test_ready_means_database_and_schema_and_no_more_unless_asked(settings: Settings) -> None:
    _configure(settings, redis_url="", readyz_require_heartbeats=False, readyz_require_worker_heartbeat=False)

    ready, checks = readiness()

    assert ready is True
    assert [check["name"] for check in checks] == ["database", "migrations"]


@pytest.mark.parametrize(
    ("switch", "kind"),
    [("readyz_require_heartbeats", "scheduler"), ("readyz_require_worker_heartbeat", "worker")],
)
def test_a_required_heartbeat_decides_readiness(settings: Settings, switch: str, kind: str) -> None:
    _configure(settings, **{switch: True})
    assert readiness()[0] is False

    make_heartbeat(kind, alive_until=database_now() + timedelta(seconds=45))

    assert readiness()[0] is True


def test_redis_counts_for_readiness_only_when_configured_and_not_optional(
    settings: Settings, silent_server: int
) -> None:
    _configure(settings, redis_url=f"redis://:hush@127.0.0.1:{silent_server}/0")
    started = time.monotonic()
    ready, checks = readiness()

    assert ready is False
    assert time.monotonic() - started < 3
    assert checks[-1]["name"] == "redis" and "hush" not in checks[-1]["detail"]
    _configure(settings, readyz_redis_optional=True)
    assert readiness()[0] is True


@pytest.mark.usefixtures("live_processes")
def test_a_dead_redis_makes_health_degraded_never_down(settings: Settings) -> None:
    with RedisServer() as server:
        _configure(settings, redis_url=server.url)
        assert health_report()["status"] == "ok"

    report = health_report()

    assert (report["status"], _check("redis", report)["status"]) == ("degraded", "degraded")


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "nonsense://x", "redis://127.0.0.1:notaport/0"])
def test_a_redis_that_cannot_be_reached_is_one_line(url: str) -> None:
    with pytest.raises(Unreachable, match="Redis does not answer"):
        probe_redis(url)


def test_a_database_that_hangs_is_given_up_and_asked_once_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question is held by an event instead of a broken server; the caller and its deadline are real."""
    release = threading.Event()
    asked: list[int] = []

    def hang(question: probes._Question) -> None:
        asked.append(1)
        release.wait(20)

    monkeypatch.setattr(probes, "PROBE_SECONDS", 0.2)
    monkeypatch.setattr(probes._Question, "_ask", hang)
    try:
        for _ in range(3):
            with pytest.raises(Unreachable, match="did not answer"):
                probe_database()
        assert health_report()["status"] == "down"
        assert readiness()[0] is False
        assert asked == [1]
    finally:
        release.set()


def test_questions_at_the_same_time_share_one_answer() -> None:
    answers: list[float] = []
    threads = [threading.Thread(target=lambda: answers.append(probe_database())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert len(answers) == 8
