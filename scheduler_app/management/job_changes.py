"""The verbs that change a job: add, edit, enable, disable, delete, trigger. Each calls one service."""

from __future__ import annotations

from argparse import ArgumentParser

from scheduler_app.clock import iso
from scheduler_app.domain.occurrences import clock_note, compile_schedule
from scheduler_app.errors import Conflict
from scheduler_app.management.arguments import positive_int
from scheduler_app.management.job_options import (
    add_policy_options,
    add_schedule_options,
    check_schedule_options,
    job_values,
)
from scheduler_app.management.job_reads import next_run_text
from scheduler_app.management.operator import cli_actor
from scheduler_app.management.output import Output, visible
from scheduler_app.management.verbs import Options, Verb
from scheduler_app.models import Job
from scheduler_app.models.choices import MisfirePolicy, OverlapPolicy, ScheduleType
from scheduler_app.queries.executions import get_execution
from scheduler_app.queries.jobs import describe_schedule
from scheduler_app.queries.representations import execution_dict, job_dict
from scheduler_app.services.executions import create_manual_execution
from scheduler_app.services.jobs import create_job, delete_job, disable_job, edit_job, enable_job


def _job_id(parser: ArgumentParser) -> None:
    parser.add_argument("job_id", type=positive_int, metavar="JOB_ID", help="id of the job, see `job list`")


def _why(parser: ArgumentParser) -> None:
    _job_id(parser)
    parser.add_argument("--why", default="", metavar="TEXT", help="reason, kept in the audit trail")


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the job, unique among recurring jobs")
    parser.add_argument("task", metavar="TASK", help="registered task, see `job catalog`")
    parser.add_argument(
        "schedule_type",
        choices=ScheduleType.values,
        metavar="SCHEDULE_TYPE",
        help="one_time, interval or cron",
    )
    add_schedule_options(parser)
    add_policy_options(parser)
    parser.add_argument(
        "--disabled", dest="enabled", action="store_const", const=False, help="store it without starting it"
    )


def _add(options: Options, output: Output) -> None:
    check_schedule_options(options, options["schedule_type"], required=True)
    job = create_job(values=job_values(options), actor=cli_actor())
    _warn(job, output)
    _tell_clock_change(options["run_at"], job, output)
    _answer(job, f"job {job.pk} added: {_summary(job)}", output)


def _edit_arguments(parser: ArgumentParser) -> None:
    _why(parser)
    parser.add_argument("--name", metavar="NAME", help="new name")
    parser.add_argument("--task", metavar="TASK", help="registered task, see `job catalog`")
    parser.add_argument(
        "--schedule-type", choices=ScheduleType.values, help="needs a value of the new type with it"
    )
    add_schedule_options(parser, editing=True)
    add_policy_options(parser, editing=True)
    state = parser.add_mutually_exclusive_group()
    state.add_argument("--enabled", dest="enabled", action="store_const", const=True, help="as `job enable`")
    state.add_argument(
        "--disabled",
        dest="enabled",
        action="store_const",
        const=False,
        help="as `job disable`: queued runs are cancelled",
    )
    parser.add_argument(
        "--expected-version",
        type=positive_int,
        metavar="VERSION",
        help="refuse when the job was changed since",
    )


def _edit(options: Options, output: Output) -> None:
    check_schedule_options(options, options["schedule_type"], required=True)
    values = job_values(options)
    if not values:
        options["parser"].error("nothing to change; give at least one option, such as --every 5m")
    job = edit_job(
        job_id=options["job_id"],
        values=values,
        actor=cli_actor(),
        expected_version=options["expected_version"],
        why=options["why"],
    )
    _warn(job, output)
    _tell_clock_change(options["run_at"], job, output)
    _answer(job, f"job {job.pk} changed: {_summary(job)}", output)


def _enable(options: Options, output: Output) -> None:
    job = enable_job(job_id=options["job_id"], actor=cli_actor(), why=options["why"])
    _answer(job, f"job {job.pk} enabled: {_summary(job)}", output)


def _disable(options: Options, output: Output) -> None:
    result = disable_job(job_id=options["job_id"], actor=cli_actor(), why=options["why"])
    cancelled = f"queued executions cancelled: {result.cancelled}"
    _answer(result.job, f"job {result.job.pk} disabled; a running execution goes on; {cancelled}", output)


def _delete_arguments(parser: ArgumentParser) -> None:
    _why(parser)
    parser.add_argument("--yes", action="store_true", help="confirm; without it nothing is deleted")


def _delete(options: Options, output: Output) -> None:
    job_id = options["job_id"]
    if not options["yes"]:
        raise Conflict(
            f"nothing was deleted; to delete job {job_id} and cancel what it has queued, repeat with --yes"
        )
    result = delete_job(job_id=job_id, actor=cli_actor(), why=options["why"])
    kept = "history stays until its retention"
    text = f"job {job_id} deleted; {kept}; queued executions cancelled: {result.cancelled}"
    _answer(result.job, text, output)


def _trigger(options: Options, output: Output) -> None:
    queued = create_manual_execution(job_id=options["job_id"], actor=cli_actor())
    execution = get_execution(queued.pk)
    if output.as_json:
        output.document(execution_dict(execution))
    else:
        output.line(
            f"execution {execution.pk} queued for job {execution.job_id} {visible(execution.job.name)}"
        )


def _answer(job: Job, text: str, output: Output) -> None:
    if output.as_json:
        output.document(job_dict(job))
    else:
        output.line(text)


def _summary(job: Job) -> str:
    return f"{visible(job.name)}, {describe_schedule(job)}, {next_run_text(job)}"


def _tell_clock_change(run_at: str | None, job: Job, output: Output) -> None:
    """Say when the local time that was typed does not exist, or exists twice, on that day."""
    if run_at is None or job.next_run_at is None:
        return
    typed = compile_schedule(
        schedule_type=job.schedule_type, schedule={"run_at": run_at}, timezone=job.timezone
    )
    remark = clock_note(typed, job.next_run_at)
    if remark:
        output.note(f"note: the run at {iso(job.next_run_at)} is {remark} in {job.timezone}")


def _warn(job: Job, output: Output) -> None:
    if job.misfire_policy == MisfirePolicy.CATCH_UP and job.overlap_policy == OverlapPolicy.SKIP:
        output.note(
            "warning: misfire policy catch_up with overlap policy skip runs one late slot and records the "
            "others as missed; use --overlap-policy queue to run them all"
        )


CHANGES = (
    Verb(
        "add",
        "Add a job: a task, when it runs, and how it is treated.",
        'python manage.py job add "Daily report" generate_report cron --cron "0 9 * * 1-5" '
        "--timezone America/Los_Angeles",
        _add_arguments,
        _add,
        usage="NAME TASK SCHEDULE_TYPE (--every | --cron | --run-at | --schedule-value) [options]",
        changes=True,
    ),
    Verb(
        "edit",
        "Change what is named of a job, from now on; runs that were due before keep the old definition.",
        "python manage.py job edit 3 --every 10m --max-attempts 5",
        _edit_arguments,
        _edit,
        usage="JOB_ID [options]",
        changes=True,
    ),
    Verb(
        "enable",
        "Let a job run again, from its first run after now.",
        "python manage.py job enable 3",
        _why,
        _enable,
        changes=True,
    ),
    Verb(
        "disable",
        "Stop a job and cancel what it has queued.",
        "python manage.py job disable 3",
        _why,
        _disable,
        changes=True,
    ),
    Verb(
        "delete",
        "Delete a job; its history stays until its retention.",
        "python manage.py job delete 3 --yes",
        _delete_arguments,
        _delete,
        changes=True,
    ),
    Verb(
        "trigger",
        "Queue one run of an enabled job now.",
        "python manage.py job trigger 3",
        _job_id,
        _trigger,
        changes=True,
    ),
)
