"""Loops as processes of their own, with short windows, for tests that stop, freeze and kill them."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection

from scheduler_app.models import Execution, Heartbeat, Job
from scheduler_app.services.executions import create_manual_execution
from scheduler_app.services.jobs import create_job
from tests.architecture.sources import ROOT
from tests.waiting import wait_until

SHORT_WINDOWS = {
    "LEASE_SECONDS": "10",
    "LEASE_BUFFER_SECONDS": "2",
    "HEARTBEAT_SECONDS": "1",
    "ALIVE_SECONDS": "5",
}
START_SECONDS = 60.0
RUN_SECONDS = 60.0


class Daemon:
    """One loop: its process, its name, and what it has said so far."""

    def __init__(self, command: list[str], environment: dict[str, str], name: str, log: Path) -> None:
        self.name = name
        self._log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, stdout=file, stderr=file
            )

    def send(self, number: signal.Signals) -> None:
        """Signal the process, not the attempts it has started."""
        self.process.send_signal(number)

    def freeze(self) -> None:
        """Stop the process between two transactions of SQLite, whose one write lock would stop everybody."""

        def stopped_without_the_lock() -> bool:
            self.send(signal.SIGSTOP)
            if connection.vendor == "postgresql" or _writable(str(connection.settings_dict["NAME"])):
                return True
            self.send(signal.SIGCONT)
            return False

        wait_until(stopped_without_the_lock, 20, f"{self.name} is frozen outside a transaction")

    def exit_code(self, seconds: float = 20) -> int:
        """The exit code of a process that is on its way out."""
        return self.process.wait(timeout=seconds)

    def lives(self) -> bool:
        """Whether the process is there."""
        return self.process.poll() is None

    def said(self) -> str:
        """All it has written to its log."""
        return self._log.read_text(errors="replace")

    def end(self) -> None:
        """Leave nothing behind, also of a process that was stopped."""
        if self.lives():
            self.process.kill()
        self.process.wait(timeout=10)


class Daemons:
    """Starts loops on the database of the test; each returns when it has shown a sign of life."""

    def __init__(self, environment: Callable[..., dict[str, str]], folder: Path) -> None:
        self._environment = environment
        self._folder = folder
        self.started: list[Daemon] = []

    def worker(self, name: str, *words: str, slots: int = 2, **variables: str) -> Daemon:
        """A worker that is alive."""
        command = ["worker", "run", "--worker-id", name, "--workers", str(slots), *words]
        return self._start(command, name, variables)

    def scheduler(self, name: str = "scheduler-a", *words: str, **variables: str) -> Daemon:
        """A scheduler that is alive."""
        command = ["scheduler", "run", "--scheduler-id", name, "--tick-seconds", "1", *words]
        return self._start(command, name, variables)

    def _start(self, command: list[str], name: str, variables: dict[str, str]) -> Daemon:
        environment = self._environment(**{**SHORT_WINDOWS, **variables})
        daemon = Daemon(command, environment, name, self._folder / f"{len(self.started)}-{name}.log")
        self.started.append(daemon)
        wait_until(
            lambda: Heartbeat.objects.filter(name=name).exists() or not daemon.lives(),
            START_SECONDS,
            f"{name} shows a sign of life",
        )
        assert daemon.lives(), daemon.said()
        return daemon


def _writable(file: str) -> bool:
    """Whether a writer gets its turn within a moment."""
    with closing(
        sqlite3.connect(file, timeout=0.5, isolation_level=None, uri=file.startswith("file:"))
    ) as own:
        try:
            own.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        own.execute("ROLLBACK")
        return True


@contextmanager
def daemons_in(environment: Callable[..., dict[str, str]], folder: Path) -> Iterator[Daemons]:
    """Loops of one test; whatever still runs at its end is killed."""
    daemons = Daemons(environment, folder)
    try:
        yield daemons
    finally:
        for daemon in daemons.started:
            daemon.end()


def sleeper(seconds: float, **values: object) -> Job:
    """A job far from due whose runs take that long."""
    plain: dict[str, object] = {
        "name": f"sleeper {Job.objects.count()}",
        "task": "sleep_for_seconds",
        "config": {"seconds": seconds},
        "schedule_type": "interval",
        "every": "1d",
        "overlap_policy": "allow",
        "timeout_seconds": 100,
    }
    return create_job(values={**plain, **values}, actor="tester")


def trigger(job: Job) -> Execution:
    """A run of the job right now."""
    return create_manual_execution(job_id=job.id, actor="tester")


def until_status(execution: Execution, *statuses: str, seconds: float = RUN_SECONDS) -> Execution:
    """The execution as soon as it is in one of the statuses."""

    def there() -> bool:
        execution.refresh_from_db()
        return execution.status in statuses

    wait_until(there, seconds, f"execution {execution.id} is {' or '.join(statuses)}")
    return execution


def history(execution: Execution) -> list[tuple[int, str, str]]:
    """Number, outcome and worker of each attempt."""
    return list(execution.attempt_rows.order_by("number").values_list("number", "outcome", "worker_id"))
