"""What a row about a job shows, on the dashboard as in the job list, for all rows in two statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_app.models import Execution, Job
from scheduler_app.queries.dashboard import last_runs
from scheduler_app.queries.jobs import describe_schedule
from scheduler_app.views.run_bars import Bars, bars_of


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job, its schedule in full and in short words, its last runs as bars, the newest that has ended."""

    job: Job
    schedule: str
    short: str
    bars: Bars
    last: Execution | None


def rows_of(jobs: Sequence[Job]) -> list[JobRow]:
    """One row a job, in the order given."""
    runs = last_runs([job.pk for job in jobs])
    return [_row(job, runs.get(job.pk, [])) for job in jobs]


def _row(job: Job, runs: Sequence[Execution]) -> JobRow:
    last = next((run for run in reversed(runs) if run.finished_at is not None), None)
    schedule = describe_schedule(job)
    return JobRow(job, schedule, schedule.partition(", counted from")[0], bars_of(runs), last)
