"""The verbs on executions: list, inspect, retry, cancel. Each asks one query or calls one service."""

from __future__ import annotations

from argparse import ArgumentParser

from scheduler_app.clock import iso
from scheduler_app.domain.states import Status
from scheduler_app.management.arguments import page_size, positive_int
from scheduler_app.management.operator import cli_actor
from scheduler_app.management.output import Output, visible
from scheduler_app.management.verbs import Options, Verb
from scheduler_app.models import Attempt, Execution
from scheduler_app.queries.executions import attempts_of, get_execution, list_executions
from scheduler_app.queries.paging import Page
from scheduler_app.queries.representations import (
    execution_dict,
    inspected_execution_dict,
    milliseconds,
)
from scheduler_app.services.executions import cancel_execution, retry_execution

COLUMNS = (
    "id",
    "job",
    "name",
    "trigger",
    "scheduled for",
    "status",
    "attempts",
    "duration",
    "late",
    "worker",
    "reason",
)


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--status",
        action="append",
        choices=[status.value for status in Status],
        help="only this status; repeat for more",
    )
    parser.add_argument("--job", type=positive_int, metavar="JOB_ID", help="only executions of this job")
    parser.add_argument("--task", metavar="TASK", help="only executions of this task")
    parser.add_argument(
        "--limit", type=page_size, default=50, metavar="COUNT", help="rows shown, 1 to 1000 (default 50)"
    )
    parser.add_argument("--cursor", metavar="CURSOR", help="continue a listing where the page before ended")


def _list(options: Options, output: Output) -> None:
    page = _filled_page(options)
    items = [execution_dict(execution) for execution in page.items]
    if output.as_json:
        output.document({"items": items, "next": page.next})
        return
    output.table(COLUMNS, [_row(item) for item in items])
    if not items:
        output.note("no executions match" if _is_filtered(options) else "no executions yet")
    if page.next:
        output.note(f"more: --cursor {page.next}")


def _filled_page(options: Options) -> Page[Execution]:
    """A page of --limit rows, asked for in bounded pieces where the filter has to search the history."""
    limit = options["limit"]
    found: list[Execution] = []
    cursor = options["cursor"]
    while True:
        page = list_executions(
            limit=limit - len(found),
            cursor=cursor,
            statuses=options["status"] or (),
            job_id=options["job"],
            task=options["task"],
        )
        found += page.items
        cursor = page.next
        if cursor is None or len(found) == limit:
            return Page(found, cursor)


def _is_filtered(options: Options) -> bool:
    return any(options[name] is not None for name in ("status", "job", "task", "cursor"))


def _row(item: dict[str, object]) -> tuple[object, ...]:
    return (
        item["id"],
        item["job_id"],
        item["job_name"],
        item["trigger"],
        item["scheduled_for"],
        item["status"],
        f"{item['attempts']}/{item['max_attempts']}",
        duration_text(item["duration_ms"]),
        duration_text(item["lateness_ms"]),
        item["worker_id"],
        item["reason"],
    )


def duration_text(duration: object) -> str | None:
    """Milliseconds for people: `340 ms`, `12.3 s`; None stays None."""
    if not isinstance(duration, int):
        return None
    return f"{duration} ms" if abs(duration) < 1000 else f"{duration / 1000:.1f} s"


def _one_execution(parser: ArgumentParser) -> None:
    parser.add_argument(
        "execution_id",
        type=positive_int,
        metavar="EXECUTION_ID",
        help="id of the execution, see `execution list`",
    )


def _inspect(options: Options, output: Output) -> None:
    execution = get_execution(options["execution_id"])
    attempts = attempts_of(execution.pk)
    if output.as_json:
        output.document(inspected_execution_dict(execution, attempts))
        return
    fields = execution_dict(execution)
    for name in ("duration_ms", "lateness_ms"):
        fields[name.removesuffix("_ms")] = duration_text(fields.pop(name))
    output.fields(fields)
    for attempt in attempts:
        _print_attempt(attempt, output)


def _print_attempt(attempt: Attempt, output: Output) -> None:
    took = duration_text(milliseconds(attempt.started_at, attempt.finished_at))
    where = f" on {visible(attempt.worker_id)}" if attempt.worker_id else ""
    code = f", exit code {attempt.exit_code}" if attempt.exit_code is not None else ""
    output.line()
    output.line(
        f"attempt {attempt.number}: {attempt.outcome}, {iso(attempt.started_at)}, {took}{where}{code}"
    )
    output.block("output", attempt.output)
    output.block("error", attempt.error)
    if attempt.result is not None:
        output.fields({"  result": attempt.result})


def _retry_arguments(parser: ArgumentParser) -> None:
    _one_execution(parser)
    parser.add_argument(
        "--as-was", action="store_true", help="with the definition the job had then, not the one it has now"
    )


def _retry(options: Options, output: Output) -> None:
    new = retry_execution(execution_id=options["execution_id"], actor=cli_actor(), as_was=options["as_was"])
    _answer(new.pk, f"execution {new.pk} queued, a retry of execution {options['execution_id']}", output)


def _cancel(options: Options, output: Output) -> None:
    done = cancel_execution(execution_id=options["execution_id"], actor=cli_actor())
    _answer(done.pk, f"execution {done.pk} cancelled", output)


def _answer(execution_id: int, text: str, output: Output) -> None:
    if output.as_json:
        output.document(execution_dict(get_execution(execution_id)))
    else:
        output.line(text)


VERBS = (
    Verb(
        "list",
        "List executions, newest first.",
        "python manage.py execution list --status failed --limit 25",
        _list_arguments,
        _list,
        usage="[options]",
    ),
    Verb(
        "inspect",
        "Show one execution with every attempt, its output and its error.",
        "python manage.py execution inspect 12 --format json",
        _one_execution,
        _inspect,
    ),
    Verb(
        "retry",
        "Run a failed, timed out, dead-lettered or cancelled execution again, as a new one.",
        "python manage.py execution retry 12",
        _retry_arguments,
        _retry,
        changes=True,
    ),
    Verb(
        "cancel",
        "Cancel an execution that has not started.",
        "python manage.py execution cancel 12",
        _one_execution,
        _cancel,
        changes=True,
    ),
)
