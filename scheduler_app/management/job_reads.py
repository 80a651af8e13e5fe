"""The verbs that read jobs: list, show, catalog, preview. Each asks one query."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime

from scheduler_app.clock import database_now, iso
from scheduler_app.domain.zones import load_zone
from scheduler_app.errors import NotFound, SchedulerError
from scheduler_app.management.arguments import page_size, positive_int, run_count
from scheduler_app.management.output import Output, visible
from scheduler_app.management.verbs import Options, Verb
from scheduler_app.models import Job, MissedRange
from scheduler_app.queries.jobs import (
    STATES,
    describe_schedule,
    get_job,
    list_jobs,
    local_text,
    note_of,
    upcoming,
)
from scheduler_app.queries.missed_ranges import count_words, reason_words, recent_missed_ranges
from scheduler_app.queries.representations import job_dict, shown_job_dict
from scheduler_app.tasks.registry import Task, catalog

SHOWN_RUNS = 3
SHOWN_RANGES = 20


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=page_size, default=50, metavar="COUNT", help="rows shown, 1 to 1000 (default 50)"
    )
    parser.add_argument("--cursor", metavar="CURSOR", help="continue a listing where the page before ended")
    parser.add_argument("--search", default="", metavar="TEXT", help="part of the name")
    parser.add_argument(
        "--state", choices=sorted(STATES), help="only jobs in this state (default: all but deleted)"
    )
    parser.add_argument("--task", metavar="TASK", help="only jobs of this task")


def _list(options: Options, output: Output) -> None:
    page = list_jobs(
        limit=options["limit"],
        cursor=options["cursor"],
        search=options["search"],
        state=options["state"],
        task=options["task"],
    )
    if output.as_json:
        output.document({"items": [job_dict(job) for job in page.items], "next": page.next})
        return
    rows = [
        (job.pk, job.name, job.task, describe_schedule(job), iso(_coming(job)), job.state)
        for job in page.items
    ]
    output.table(("id", "name", "task", "schedule", "next run", "state"), rows)
    if not rows:
        output.note("no jobs here; `job add --help` shows how to add one")
    if page.next:
        output.note(f"more: --cursor {page.next}")


def _one_job(parser: ArgumentParser) -> None:
    parser.add_argument("job_id", type=positive_int, metavar="JOB_ID", help="id of the job, see `job list`")


def _show(options: Options, output: Output) -> None:
    job = get_job(options["job_id"])
    missed = recent_missed_ranges(job.pk, SHOWN_RANGES)
    if output.as_json:
        output.document(shown_job_dict(job, missed))
        return
    output.fields({"state": job.state, "when": describe_schedule(job), **job_dict(job)})
    if job.state == "active":
        output.line()
        _print_runs(job, SHOWN_RUNS, output)
    if missed:
        output.line()
        _print_missed(missed, output)


def _catalog_arguments(parser: ArgumentParser) -> None:
    del parser


def _catalog(options: Options, output: Output) -> None:
    tasks = catalog()
    if output.as_json:
        output.document({"items": [_task_dict(task) for task in tasks], "next": None})
        return
    for task in tasks:
        output.line(f"{task.name}  {visible(task.description)}")
        if not task.schema:
            output.line("    no config")
        for field in task.schema:
            need = "required" if field.required else f"default {field.default!r}"
            limits = _limits(field.minimum, field.maximum, field.max_length)
            output.line(f"    {field.name}: {field.type}, {need}{limits}  {visible(field.help)}".rstrip())


def _preview_arguments(parser: ArgumentParser) -> None:
    _one_job(parser)
    parser.add_argument(
        "--count", type=run_count, default=10, metavar="COUNT", help="runs shown, 1 to 1000 (default 10)"
    )


def _preview(options: Options, output: Output) -> None:
    job = get_job(options["job_id"])
    if job.deleted_at is not None:
        raise NotFound(f"job {job.pk} was deleted at {iso(job.deleted_at)} and has no further runs")
    if not output.as_json:
        output.line(describe_schedule(job))
        _print_runs(job, options["count"], output)
        return
    runs = upcoming(job, database_now(), options["count"])
    items = [{"at": iso(at), "local": local, "note": note} for at, local, note in runs]
    output.document({"next": items, "description": describe_schedule(job)})


def next_run_text(job: Job) -> str:
    """When a job runs next, in UTC and on the clock of its zone, with a remark about a clock change."""
    at = _coming(job)
    if at is None:
        return "no next run" if job.enabled else "disabled, no next run"
    try:
        local, note = local_text(at, load_zone(job.timezone)), note_of(job, at)
    except SchedulerError:
        return f"next run {iso(at)}"
    return f"next run {iso(at)} ({local})" + (f", {note}" if note else "")


def _coming(job: Job) -> datetime | None:
    return job.next_run_at if job.enabled and job.deleted_at is None else None


def _print_runs(job: Job, count: int, output: Output) -> None:
    rows = [(iso(at), local, note) for at, local, note in upcoming(job, database_now(), count)]
    output.table(("at", "local", "note"), rows)


def _print_missed(missed: list[MissedRange], output: Output) -> None:
    rows = [
        (count_words(found), iso(found.first_slot_for), iso(found.last_slot_for), reason_words(found))
        for found in missed
    ]
    output.table(("not run", "from", "to", "because"), rows)


def _task_dict(task: Task) -> dict[str, object]:
    fields = [
        {
            "name": field.name,
            "type": field.type,
            "required": field.required,
            "default": field.default,
            "minimum": field.minimum,
            "maximum": field.maximum,
            "max_length": field.max_length,
            "help": field.help,
        }
        for field in task.schema
    ]
    return {"name": task.name, "description": task.description, "lane": task.lane, "config": fields}


def _limits(minimum: float | None, maximum: float | None, max_length: int | None) -> str:
    parts = [f"at least {minimum:g}"] if minimum is not None else []
    parts += [f"at most {maximum:g}"] if maximum is not None else []
    parts += [f"at most {max_length} characters"] if max_length is not None else []
    return "".join(f", {part}" for part in parts)


READS = (
    Verb(
        "list",
        "List jobs, newest first.",
        "python manage.py job list --state active --limit 20",
        _list_arguments,
        _list,
    ),
    Verb(
        "show",
        "Show one job with its policies, next runs and slots that were not run.",
        "python manage.py job show 3 --format json",
        _one_job,
        _show,
    ),
    Verb(
        "catalog",
        "List the registered tasks and what their config takes.",
        "python manage.py job catalog",
        _catalog_arguments,
        _catalog,
    ),
    Verb(
        "preview",
        "Show the next runs of a job.",
        "python manage.py job preview 3 --count 5",
        _preview_arguments,
        _preview,
    ),
)
