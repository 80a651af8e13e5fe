"""Many schedulers and workers over many jobs, one of each killed (-9) every few seconds, then the books.

    python -m tests.soak.contention --seconds 120

Uses the PostgreSQL server of DATABASE_URL (or TEST_DATABASE_URL) with a database of its own, which it makes
and drops. Ends with exit code 0 only when every slot is accounted for and nothing happened twice.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

PROJECT = Path(__file__).resolve().parents[2]
TRIAL = {
    "DEBUG": "1",
    "LEASE_SECONDS": "10",
    "LEASE_BUFFER_SECONDS": "2",
    "HEARTBEAT_SECONDS": "1",
    "ALIVE_SECONDS": "5",
    "SCHEDULER_TASK_MODULES": "tests.soak.witness",
}
WORDS = {
    "scheduler": ("scheduler", "run", "--tick-seconds", "2"),
    "worker": ("worker", "run", "--workers", "8"),
}
POLICIES = ("skip", "queue", "allow")


@dataclass
class Fleet:
    """The daemons of a soak; each place is refilled after a kill."""

    environment: dict[str, str]
    log_folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    def start(self, place: str) -> None:
        kind = place.split("-")[0]
        words = WORDS[kind]
        with (self.log_folder / f"{place}.log").open("ab") as log:
            self.processes[place] = subprocess.Popen(
                [sys.executable, "manage.py", *words],
                cwd=PROJECT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def choose(self, kind: str, chooser: random.Random) -> str:
        return chooser.choice([place for place in self.processes if place.startswith(kind)])

    def choose_busy_worker(self, chooser: random.Random) -> str:
        """A worker that holds something, if there is one: the death of an idle one proves little."""
        from scheduler_app.models import Heartbeat, Lease

        busy = set(
            Heartbeat.objects.filter(incarnation__in=Lease.objects.values("worker")).values_list(
                "pid", flat=True
            )
        )
        places = [place for place, process in self.processes.items() if process.pid in busy]
        return chooser.choice(places) if places else self.choose("worker", chooser)

    def kill(self, place: str) -> None:
        self.processes[place].kill()
        self.processes[place].wait()
        self.kills[place.split("-")[0]] += 1
        self.start(place)

    def wait_until_known(self, seconds: float = 60) -> None:
        """Until each process has shown a sign of life: only then it handles signals."""
        from scheduler_app.models import Heartbeat

        pause = threading.Event()
        deadline = time.monotonic() + seconds
        wanted = {process.pid for process in self.processes.values()}
        while not wanted <= set(Heartbeat.objects.values_list("pid", flat=True)):
            if time.monotonic() > deadline:
                raise SystemExit("a process showed no sign of life")
            pause.wait(0.2)

    def stop(self, kind: str, seconds: float = 45) -> list[str]:
        """SIGTERM to all of a kind; the names of those that did not end cleanly."""
        chosen = {name: process for name, process in self.processes.items() if name.startswith(kind)}
        for process in chosen.values():
            process.send_signal(signal.SIGTERM)
        unclean = []
        for name, process in chosen.items():
            try:
                if process.wait(seconds) != 0:
                    unclean.append(f"{name} ended with {process.returncode}")
            except subprocess.TimeoutExpired:
                process.kill()
                unclean.append(f"{name} did not end within {seconds:g} s")
            del self.processes[name]
        return unclean


def fresh_database(server: str) -> str:
    """A new database on the server; its URL."""
    name = f"scheduler_soak_{os.getpid()}"
    with psycopg.connect(server.replace("postgres://", "postgresql://", 1), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    parts = urlsplit(server)
    return urlunsplit(parts._replace(path=f"/{name}"))


def drop_database(server: str, url: str) -> None:
    name = urlsplit(url).path.lstrip("/")
    with psycopg.connect(server.replace("postgres://", "postgresql://", 1), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def make_jobs(count: int, log: Path, chooser: random.Random) -> None:
    """Interval jobs over all overlap policies, some slow, some failing on their first attempt."""
    from scheduler_app.services.jobs import create_job

    for number in range(count):
        create_job(
            values={
                "name": f"soak {number}",
                "task": "soak_witness",
                "schedule_type": "interval",
                "every": f"{chooser.randint(3, 12)}s",
                "config": {
                    "log": str(log),
                    "seconds": chooser.choice([0, 0, 0, 0.2, 4]),
                    "fail_every": chooser.choice([0, 0, 7]),
                },
                "overlap_policy": POLICIES[number % 3],
                "queue_limit": 8,
                "misfire_policy": chooser.choice(["coalesce", "catch_up", "skip"]),
                "misfire_grace_seconds": chooser.choice([2, 60]),
                "max_attempts": chooser.choice([1, 3, 5]),
                "retry_backoff_seconds": 1,
                "timeout_seconds": 8,
            },
            actor="soak",
        )


def disturb(fleet: Fleet, seconds: float, chooser: random.Random) -> None:
    """Kill one scheduler and one worker every few seconds until the time is over."""
    fleet.wait_until_known()
    over = threading.Event()
    deadline = time.monotonic() + seconds
    while not over.wait(min(chooser.uniform(2.0, 5.0), max(deadline - time.monotonic(), 0.0))):
        if time.monotonic() >= deadline:
            return
        fleet.kill(fleet.choose("scheduler", chooser))
        fleet.kill(fleet.choose_busy_worker(chooser))


def settle(fleet: Fleet, seconds: float) -> bool:
    """End the schedulers, so that no new row comes, then wait until every row is over by itself."""
    from scheduler_app.models import Execution

    fleet.wait_until_known()
    unclean = fleet.stop("scheduler")
    for line in unclean:
        print(f"  {line}")
    environment = fleet.environment
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < deadline:
        command = [sys.executable, "-c", _RECOVER_ONLY]
        subprocess.run(command, cwd=PROJECT, env=environment, check=True)
        if not Execution.objects.filter(finished_at__isnull=True).exists():
            return not unclean
        pause.wait(1.0)
    return False


_RECOVER_ONLY = """
import django; django.setup()
from scheduler_app.clock import database_now
from scheduler_app.services.recovery import recover_lost_leases
from scheduler_app.services.turns import promote_stranded
recover_lost_leases(now=database_now()); promote_stranded(now=database_now())
"""


def report(log: Path, fleet: Fleet, deadlocks: int) -> bool:
    """Print the books; whether they are in order."""
    from scheduler_app.models import Attempt, Execution, Job, MissedRange
    from tests.soak.accounts import database_faults, unaccounted_slots, witness_faults

    statuses = Counter(Execution.objects.values_list("status", flat=True))
    outcomes = Counter(Attempt.objects.values_list("outcome", flat=True))
    print(f"killed: {dict(fleet.kills)}")
    print(f"executions: {dict(statuses)}, ranges: {MissedRange.objects.count()}")
    print(f"attempts: {dict(outcomes)}, witness lines: {len(log.read_text().splitlines())}")
    print(f"deadlocks: {deadlocks}")
    problems: list[str] = [f"{name}: {rows}" for name, rows in database_faults().items()]
    problems += unaccounted_slots(Job.objects.order_by("id"))
    problems += witness_faults(log)
    if deadlocks:
        problems.append(f"{deadlocks} deadlocks")
    if fleet.kills["worker"] and not outcomes["lost"]:
        problems.append("workers were killed, but no attempt was lost: nothing was put to the test")
    for line in problems[:40]:
        print(f"FAULT {line}")
    print(
        "every slot is accounted for, nothing happened twice" if not problems else f"{len(problems)} faults"
    )
    return not problems


def count_deadlocks() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def main() -> int:
    """Run the soak; exit code 0 when the books are in order."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--processes", type=int, default=4, help="schedulers, and as many workers")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", action="store_true", help="leave the database for a look")
    options = parser.parse_args()
    server = os.environ.get("TEST_DATABASE_URL") or os.environ.get("DATABASE_URL")
    if not server or not server.startswith("postgres"):
        parser.error(
            "set DATABASE_URL to a PostgreSQL server, such as postgres://scheduler@localhost/postgres"
        )
    print(f"seed {options.seed}")
    chooser = random.Random(options.seed)
    url = fresh_database(server)
    os.environ.update({**TRIAL, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "task_scheduler.settings"})
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        log = folder / "witness.log"
        log.touch()
        fleet = Fleet({**os.environ, "PYTHONPATH": str(PROJECT)}, folder)
        try:
            make_jobs(options.jobs, log, chooser)
            for number in range(options.processes):
                fleet.start(f"scheduler-{number}")
                fleet.start(f"worker-{number}")
            disturb(fleet, options.seconds, chooser)
            clean = settle(fleet, 240)
            clean = not fleet.stop("worker") and clean
            good = report(log, fleet, count_deadlocks())
        finally:
            for process in fleet.processes.values():
                process.kill()
            from django.db import connection

            connection.close()
            if not options.keep:
                drop_database(server, url)
    if not clean:
        print("a process did not end as it should, or rows were left")
    return 0 if good and clean else 1


if __name__ == "__main__":
    sys.exit(main())
