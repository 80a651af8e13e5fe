"""The two loops as an operator starts them: real processes on the database of the test, in any order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection

from scheduler_app.models import Attempt, Execution, Heartbeat, Job
from tests.architecture.sources import ROOT
from tests.commands.running import run_cli
from tests.waiting import wait_until

Manage = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
posix = pytest.mark.skipif(os.name == "nt", reason="signals as of POSIX")


@pytest.fixture
def manage(child_environment: Callable[..., dict[str, str]]) -> Manage:
    """Runs one command to its end and insists on exit code 0, or on the one that is named."""

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=child_environment(HEARTBEAT_SECONDS="1"),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def start(child_environment: Callable[..., dict[str, str]], tmp_path: Path) -> Iterator[Start]:
    """Starts a loop; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*words: str) -> subprocess.Popen[str]:
        with (tmp_path / f"{len(started)}-{words[0]}.log").open("w") as log:
            command = [sys.executable, "manage.py", *words]
            process = subprocess.Popen(
                command, cwd=ROOT, env=child_environment(HEARTBEAT_SECONDS="1"), stderr=log, text=True
            )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=10)


def _add(*words: str) -> int:
    answer = run_cli("job", "add", *words, "--format", "json")
    assert answer.code == 0, answer.err
    return int(answer.json["id"])


def _trigger(job_id: int) -> None:
    assert run_cli("job", "trigger", str(job_id)).code == 0


def _succeeded(job_id: int) -> int:
    return Execution.objects.filter(job_id=job_id, status="succeeded").count()


def test_a_triggered_run_is_finished_by_a_worker_that_drains_once(manage: Manage) -> None:
    job_id = _add("Now", "always_succeed", "interval", "--every", "1d")
    _trigger(job_id)

    manage("worker", "run", "--once")

    execution = Execution.objects.get(job_id=job_id)
    assert (execution.status, execution.trigger, execution.attempts) == ("succeeded", "manual", 1)
    assert Attempt.objects.get(execution=execution).outcome == "succeeded"


def test_one_tick_materialises_what_is_due_and_nothing_else(manage: Manage) -> None:
    due = _add("Due", "always_succeed", "interval", "--every", "1s")
    later = _add("Later", "always_succeed", "interval", "--every", "1d")
    first = Job.objects.get(pk=due).next_run_at
    assert first is not None
    wait_until(lambda: _database_second() >= first.timestamp(), what="the first slot is due")

    manage("scheduler", "run", "--once")

    assert Execution.objects.filter(job_id=due, scheduled_for=first).count() == 1
    assert not Execution.objects.filter(job_id=later).exists()


def _database_second() -> float:
    sql = "SELECT extract(epoch FROM clock_timestamp())"
    if connection.vendor == "sqlite":
        sql = "SELECT (julianday('now') - 2440587.5) * 86400.0"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return float(cursor.fetchone()[0])


@posix
@pytest.mark.parametrize("order", [("scheduler", "worker"), ("worker", "scheduler")])
def test_the_loops_start_in_any_order_and_stop_on_sigterm(start: Start, order: tuple[str, str]) -> None:
    words = {
        "scheduler": ("scheduler", "run", "--tick-seconds", "1"),
        "worker": ("worker", "run", "--workers", "2"),
    }
    job_id = _add("Each second", "always_succeed", "interval", "--every", "1s", "--overlap-policy", "allow")

    first = start(*words[order[0]])
    wait_until(lambda: Heartbeat.objects.filter(kind=order[0]).exists(), 30, "the first loop shows itself")
    second = start(*words[order[1]])
    wait_until(lambda: _succeeded(job_id) >= 2, 40, "two slots were run")
    for process in (first, second):
        process.send_signal(signal.SIGTERM)

    assert [process.wait(timeout=15) for process in (first, second)] == [0, 0]
    assert not Execution.objects.filter(status__in=["claimed", "running"]).exists()


@posix
def test_a_worker_of_two_slots_runs_two_at_once_and_never_three(start: Start) -> None:
    job_id = _add(
        *("Busy", "sleep_for_seconds", "interval", "--every", "1d", "--overlap-policy", "allow"),
        *("--config", '{"seconds": 2}'),
    )
    for _ in range(4):
        _trigger(job_id)
    start("worker", "run", "--workers", "2")
    seen: set[int] = set()

    def all_done() -> bool:
        seen.add(Execution.objects.filter(job_id=job_id, status="running").count())
        return _succeeded(job_id) == 4

    wait_until(all_done, 40, "four runs are finished")
    assert max(seen) == 2


@pytest.mark.postgresql
def test_the_single_fire_demonstration_holds_on_postgresql(manage: Manage) -> None:
    done = manage("demo", "single-fire", "--processes", "3", "--seconds", "4", "--format", "json")

    evidence = json.loads(done.stdout)
    assert evidence["slots_with_two_rows"] == 0
    assert evidence["slots_without_a_row"] == 0
    assert evidence["alive_at_the_end"] == 3


def test_the_single_fire_demonstration_refuses_the_try_out_store(manage: Manage) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")

    done = manage("demo", "single-fire", code=1)

    assert "DATABASE_URL" in done.stderr and "Traceback" not in done.stderr
