"""The execution list and one execution: what ran, what runs, what will, and why each of it happened.

The rows on screen stay where they are while the list is live: a tick asks for the rows up to the newest one
shown (`top`) and is told how many came after it.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from scheduler_app.domain.states import CANCELLABLE, RETRYABLE_BY_OPERATOR, TERMINAL, Status
from scheduler_app.errors import NotFound, ValidationFailed
from scheduler_app.models import Attempt, Execution, Job
from scheduler_app.queries.dashboard import newer_executions
from scheduler_app.queries.executions import attempts_of, get_execution, list_executions
from scheduler_app.queries.jobs import get_job
from scheduler_app.queries.paging import encode_cursor
from scheduler_app.views.access import operators_only, readers
from scheduler_app.views.errors import bad_request, error_page
from scheduler_app.views.execution_words import steps_of, why
from scheduler_app.views.pages import live_page, page_links, query_text
from scheduler_app.views.partials import LIVE_ID, NOT_LIVE, Context, live_settings, target_of

LIST_PAGE = 50
LIVE_SECONDS = 5
RUNNING_SECONDS = 1
MOST_ID = 2**63 - 1
_ALL = {"url": "/executions/", "label": "All executions"}

TABS: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("", "All", frozenset()),
    ("running", "Running", frozenset({Status.RUNNING, Status.CLAIMED})),
    ("pending", "Queued", frozenset({Status.PENDING})),
    ("retry_scheduled", "Retrying", frozenset({Status.RETRY_SCHEDULED})),
    ("failed", "Failed", frozenset({Status.FAILED, Status.TIMED_OUT, Status.DEAD_LETTERED})),
    ("missed", "Skipped", frozenset({Status.MISSED})),
    ("cancelled", "Cancelled", frozenset({Status.CANCELLED})),
    ("succeeded", "Succeeded", frozenset({Status.SUCCEEDED})),
)


@readers
@require_safe
def execution_list(request: HttpRequest) -> HttpResponse:
    """Newest first; filters `status` (a tab or a status) and `job`."""
    try:
        return live_page(
            request,
            "executions/list.html",
            "executions/_live_list.html",
            lambda: _list_context(request),
        )
    except NotFound as missing:
        return error_page(request, 404, "There is no such job", missing.message, _ALL)
    except ValidationFailed as refusal:
        return bad_request(request, sentence=refusal.message)


@operators_only
@require_safe
def execution_detail(request: HttpRequest, execution_id: int) -> HttpResponse:
    """One execution with its attempts; live every second while it may change, not at all when it is over."""
    try:
        return live_page(
            request,
            "executions/detail.html",
            "executions/_live_detail.html",
            lambda: detail_context(request, get_execution(execution_id)),
        )
    except NotFound:
        return no_such_execution(request, execution_id)
    except ValidationFailed as refusal:
        return bad_request(request, sentence=refusal.message)


def no_such_execution(request: HttpRequest, execution_id: int) -> HttpResponse:
    """404 page; a live region says that retention took the row, and stops asking."""
    if target_of(request) == LIVE_ID:
        region = (
            '<div id="live" data-live="0"><p class="note">This execution was removed by retention.</p></div>'
        )
        return HttpResponse(region)
    heading = f"No execution {execution_id}"
    said = "It was never there, or its job's retention removed it."
    return error_page(request, 404, heading, said, _ALL)


def _statuses(word: str) -> frozenset[str]:
    """The statuses of a tab, or the one status a link names."""
    for tab, _, statuses in TABS:
        if word == tab:
            return statuses
    return frozenset({word})


def _list_context(request: HttpRequest) -> Context:
    word = query_text(request, "status")
    job = _job_of(query_text(request, "job"))
    statuses = _statuses(word)
    cursor = request.GET.get("cursor") or None
    top = _top_of(query_text(request, "top")) if not cursor else 0
    start = encode_cursor(top + 1) if top else cursor
    found = list_executions(limit=LIST_PAGE, cursor=start, statuses=statuses, job_id=job.pk if job else None)
    first = top or max((execution.pk for execution in found.items), default=0)
    kept = {"top": str(first)} if first else {}
    newer = newer_executions(top, statuses, job.pk if job else None) if top else None
    return {
        "live": NOT_LIVE if cursor else live_settings(request, seconds=LIVE_SECONDS, **kept),
        "executions": found.items,
        "newer": newer,
        "tabs": [(tab, label) for tab, label, _ in TABS],
        "status": word,
        "job": job,
        "page_links": page_links(request, found.next, "Pages of executions"),
    }


def _job_of(text: str) -> Job | None:
    if not text:
        return None
    if not text.isdecimal() or not text.isascii() or int(text[:19]) > MOST_ID or len(text) > 19:
        raise NotFound(f"no job {text[:40]}")
    return get_job(int(text))


def _top_of(text: str) -> int:
    """The id of the newest row on screen; rubbish means none."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 19 else 0


def detail_context(request: HttpRequest, execution: Execution, *, address: str = "") -> Context:
    """What the page of an execution shows; `address` when an action on another URL renders it."""
    attempts = attempts_of(execution.pk)
    status = Status(execution.status)
    retried_as = Execution.objects.filter(retry_of_id=execution.pk).values_list("pk", flat=True).first()
    if status in TERMINAL:
        live = NOT_LIVE
    else:
        seconds = RUNNING_SECONDS if status is not Status.RETRY_SCHEDULED else LIVE_SECONDS
        live = live_settings(request, path=address, seconds=seconds)
    return {
        "live": live,
        "execution": execution,
        "why": why(execution, attempts),
        "steps": steps_of(execution),
        "attempts": list(reversed(attempts)),
        "shown": _shown_attempt(request, attempts),
        "may_cancel": status in CANCELLABLE,
        "may_retry": status in RETRYABLE_BY_OPERATOR and retried_as is None and execution.job.enabled,
        "may_run_again": status is Status.SUCCEEDED
        and execution.job.enabled
        and execution.job.deleted_at is None,
        "retried_as": retried_as,
        "lease": getattr(execution, "lease", None),
    }


def _shown_attempt(request: HttpRequest, attempts: list[Attempt]) -> Attempt | None:
    """The attempt of `?attempt=`, else the last one."""
    wanted = request.GET.get("attempt", "")
    for attempt in attempts:
        if str(attempt.number) == wanted:
            return attempt
    return attempts[-1] if attempts else None
