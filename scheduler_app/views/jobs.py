"""The job list and one job: find it, judge it, see what it will do and what it did."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from scheduler_app.errors import NotFound, ScheduleError, ValidationFailed
from scheduler_app.models import Job
from scheduler_app.queries.executions import list_executions
from scheduler_app.queries.jobs import STATES, get_job, list_jobs, upcoming
from scheduler_app.queries.missed_ranges import count_words, reason_words, recent_missed_ranges
from scheduler_app.tasks.registry import task_names
from scheduler_app.templatetags.marks import JOB_MARKS, local_text
from scheduler_app.views.access import readers
from scheduler_app.views.errors import bad_request, error_page
from scheduler_app.views.job_rows import rows_of
from scheduler_app.views.job_words import job_sentence
from scheduler_app.views.pages import live_page, page_links, query_text
from scheduler_app.views.partials import NOT_LIVE, Context, live_settings
from scheduler_app.views.viewer import current_viewer

LIST_PAGE = 50
EXECUTIONS_PAGE = 30
UPCOMING_SHOWN = 10
MISSED_SHOWN = 5
LIVE_SECONDS = 5


@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    """All jobs that are not deleted, newest first; filters `q`, `state`, `task`."""
    try:
        return live_page(request, "jobs/list.html", "jobs/_live_list.html", lambda: _list_context(request))
    except ValidationFailed as refusal:
        return bad_request(request, sentence=refusal.message)


@readers
@require_safe
def job_detail(request: HttpRequest, job_id: int) -> HttpResponse:
    """One job, also a deleted one while its history is kept."""
    try:
        return live_page(
            request,
            "jobs/detail.html",
            "jobs/_live_detail.html",
            lambda: detail_context(request, get_job(job_id)),
        )
    except NotFound as missing:
        return no_such_job(request, missing)
    except ValidationFailed as refusal:
        return bad_request(request, sentence=refusal.message)


def no_such_job(request: HttpRequest, missing: NotFound) -> HttpResponse:
    """404 with the way to the list."""
    said = "It was never there, or it was deleted and its history went with its retention."
    heading = missing.message.partition(";")[0].capitalize()
    return error_page(request, 404, heading, said, {"url": "/jobs/", "label": "All jobs"})


def _list_context(request: HttpRequest) -> Context:
    search, state, task = (query_text(request, name) for name in ("q", "state", "task"))
    cursor = request.GET.get("cursor") or None
    found = list_jobs(limit=LIST_PAGE, cursor=cursor, search=search, state=state or None, task=task or None)
    return {
        "live": NOT_LIVE if cursor else live_settings(request, seconds=LIVE_SECONDS),
        "rows": rows_of(found.items),
        "page_links": page_links(request, found.next, "Pages of jobs"),
        "search": search,
        "state": state,
        "task": task,
        "states": [(name, JOB_MARKS[name].label) for name in STATES],
        "tasks": task_names(),
        "filtered": bool(search or state or task),
    }


def detail_context(request: HttpRequest, job: Job, *, address: str = "") -> Context:
    """What the page of a job shows; `address` when an action on another URL renders it."""
    now = current_viewer(request).now
    cursor = None if address else request.GET.get("cursor") or None
    found = list_executions(limit=EXECUTIONS_PAGE, cursor=cursor, job_id=job.pk)
    slots, fault = _upcoming(request, job, now)
    row = rows_of([job])[0]
    return {
        "live": NOT_LIVE if cursor else live_settings(request, path=address, seconds=LIVE_SECONDS),
        "job": job,
        "row": row,
        "sentence": job_sentence(job, row.short),
        "upcoming": slots,
        "schedule_fault": fault,
        "missed": _missed(job),
        "executions": found.items,
        "page_links": page_links(request, found.next, "Pages of executions"),
    }


def _upcoming(request: HttpRequest, job: Job, now: datetime) -> tuple[list[dict[str, object]], str]:
    """The next slots in the job's zone and the viewer's, or why there are none to tell."""
    zone = current_viewer(request).zone
    try:
        slots = upcoming(job, now, UPCOMING_SHOWN)
    except ScheduleError as broken:
        return [], broken.message
    own = ZoneInfo(job.timezone)
    return [
        {"at": at, "local": _day_and_time(at, own), "viewer": local_text(at, zone, now), "note": note}
        for at, _, note in slots
    ], ""


def _missed(job: Job) -> list[dict[str, object]]:
    """The newest ranges of slots that were not run, with how many and why in words."""
    return [
        {
            "first": found.first_slot_for,
            "last": found.last_slot_for,
            "alone": found.count == 1,
            "slots": count_words(found),
            "why": reason_words(found),
        }
        for found in recent_missed_ranges(job.pk, MISSED_SHOWN)
    ]


def _day_and_time(at: datetime, zone: ZoneInfo) -> str:
    local = at.astimezone(zone)
    return f"{local:%a} {local.day} {local:%b %Y %H:%M:%S}"
