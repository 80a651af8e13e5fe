"""`demo single-fire`: several scheduler processes on one database, one job due each second, one row a slot.

The processes are real and find the job at the same instants; what they leave behind is counted in SQL. The
job is deleted at the end, whatever happens; its rows stay as evidence until their retention.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import uuid
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import IO

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from scheduler_app.management.arguments import positive_int, whole_number
from scheduler_app.management.operator import cli_actor
from scheduler_app.management.output import Output, visible
from scheduler_app.management.verbs import Options, Verb
from scheduler_app.models import Heartbeat, Job
from scheduler_app.queries.evidence import SLOT_FIGURES, slot_figures
from scheduler_app.queries.job_schedules import schedule_of
from scheduler_app.services.jobs import create_job, delete_job, disable_job, enable_job

START_SECONDS = 60.0
STOP_SECONDS = 15.0
FEWEST_PROCESSES, MOST_PROCESSES = 2, 16
SHORTEST_SECONDS, LONGEST_SECONDS = 3, 600


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was counted; it holds when each due slot has one row and every process lived to the end."""

    job_id: int
    processes: int
    alive_at_the_end: int
    seconds: int
    slots_due: int
    rows: int
    slots_with_two_rows: int
    slots_without_a_row: int

    @property
    def holds(self) -> bool:
        """Whether the promise was kept, by enough slots to mean something."""
        enough = self.slots_due >= self.seconds - 2
        return (
            enough
            and self.alive_at_the_end == self.processes
            and self.slots_with_two_rows == 0
            and self.slots_without_a_row == 0
        )


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    popen: subprocess.Popen[bytes]
    talk: IO[bytes]


def scheduler_count(text: str) -> int:
    """How many schedulers take part; one alone proves nothing."""
    number = whole_number(text)
    if not FEWEST_PROCESSES <= number <= MOST_PROCESSES:
        raise ArgumentTypeError(f"{text} is refused; give {FEWEST_PROCESSES} to {MOST_PROCESSES} processes")
    return number


def duration(text: str) -> int:
    """How long the job is due, in whole seconds."""
    number = positive_int(text)
    if not SHORTEST_SECONDS <= number <= LONGEST_SECONDS:
        raise ArgumentTypeError(f"{text} is refused; give {SHORTEST_SECONDS} to {LONGEST_SECONDS} seconds")
    return number


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--processes",
        type=scheduler_count,
        default=4,
        metavar="COUNT",
        help="scheduler processes, 2 to 16 (default 4)",
    )
    parser.add_argument(
        "--seconds",
        type=duration,
        default=8,
        metavar="SECONDS",
        help="how long the job is due, 3 to 600 (default 8)",
    )


def _run(options: Options, output: Output) -> None:
    if connection.vendor != "postgresql":
        raise CommandError(
            "demo single-fire needs PostgreSQL, whose row locks it puts to the test; set DATABASE_URL first"
        )
    seconds = options["seconds"]
    token = uuid.uuid4().hex[:8]
    with _throw_away_job(token) as job, _schedulers(token, options["processes"]) as processes:
        output.note(f"{len(processes)} schedulers are alive; job {job.pk} is due each second for {seconds} s")
        evidence = _measure(job, processes, seconds)
    _print(evidence, output)
    if not evidence.holds:
        raise CommandError("the promise was not kept, or a process died: see the figures")


@contextmanager
def _throw_away_job(token: str) -> Iterator[Job]:
    values: dict[str, object] = {
        "name": f"demo single-fire {token}",
        "description": "made by `demo single-fire`, deleted at its end",
        "task": "always_succeed",
        "schedule_type": "interval",
        "every": "1s",
        "overlap_policy": "allow",
        "misfire_policy": "catch_up",
        "misfire_grace_seconds": 86_400,
        "alert_mode": "log_only",
        "retention_days": 1,
        "enabled": False,
    }
    job = create_job(values=values, actor=cli_actor())
    try:
        yield job
    finally:
        delete_job(job_id=job.pk, actor=cli_actor(), why="the demonstration is over")


@contextmanager
def _schedulers(token: str, count: int) -> Iterator[list[_Process]]:
    processes: list[_Process] = []
    try:
        for number in range(1, count + 1):
            processes.append(_start(f"demo-{token}-{number}"))
        _wait_until_alive(processes)
        yield processes
    finally:
        _stop(processes)


def _start(name: str) -> _Process:
    talk = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    command = [sys.executable, "-m", "django", "scheduler", "run", "--scheduler-id", name]
    popen = subprocess.Popen(
        command, cwd=settings.BASE_DIR, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=talk
    )
    return _Process(name, popen, talk)


def _wait_until_alive(processes: list[_Process]) -> None:
    names = [process.name for process in processes]

    def all_alive() -> bool:
        for process in processes:
            if process.popen.poll() is not None:
                raise CommandError(f"scheduler process {process.name} ended at once: {_last_words(process)}")
        return Heartbeat.objects.filter(kind="scheduler", name__in=names).count() == len(names)

    if not _wait(all_alive, START_SECONDS):
        raise CommandError(
            f"not all {len(names)} scheduler processes were alive within {START_SECONDS:.0f} s"
        )


def _measure(job: Job, processes: list[_Process], seconds: int) -> Evidence:
    enable_job(job_id=job.pk, actor=cli_actor())
    _wait(lambda: any(process.popen.poll() is not None for process in processes), seconds)
    stopped = disable_job(job_id=job.pk, actor=cli_actor()).job
    figures = slot_figures(job.pk)
    due = 0
    if figures.first and figures.last and stopped.last_slot_for:
        last = max(figures.last, stopped.last_slot_for)
        due = len(
            schedule_of(stopped).between(figures.first, last + timedelta(seconds=1), LONGEST_SECONDS * 2)
        )
    return Evidence(
        job_id=job.pk,
        processes=len(processes),
        alive_at_the_end=sum(process.popen.poll() is None for process in processes),
        seconds=seconds,
        slots_due=due,
        rows=figures.rows,
        slots_with_two_rows=figures.rows - figures.slots,
        slots_without_a_row=due - figures.slots,
    )


def _print(evidence: Evidence, output: Output) -> None:
    if output.as_json:
        output.document({**asdict(evidence), "holds": evidence.holds, "statement": SLOT_FIGURES})
        return
    output.fields({name.replace("_", " "): value for name, value in asdict(evidence).items()})
    output.line("counted by:")
    for part in SLOT_FIGURES.replace("%s", str(evidence.job_id)).splitlines():
        output.line(f"  {part}")
    if evidence.holds:
        output.line(
            f"it holds: {evidence.rows} slots, {evidence.processes} schedulers, one row for each slot"
        )


def _stop(processes: list[_Process]) -> None:
    for process in processes:
        process.popen.terminate()
    for process in processes:
        try:
            process.popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.popen.kill()
            process.popen.wait()
        process.talk.close()


def _last_words(process: _Process) -> str:
    process.talk.seek(0)
    lines = process.talk.read().decode("utf-8", "replace").strip().splitlines()
    return visible(lines[-1]) if lines else f"exit code {process.popen.returncode}"


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    """Ask until the answer is yes; False after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


SINGLE_FIRE = Verb(
    "single-fire",
    "Show that many schedulers make one row for each slot (PostgreSQL).",
    "python manage.py demo single-fire --processes 4 --seconds 8",
    _arguments,
    _run,
    changes=True,
)
