"""What an operator does to a job: run now, enable, disable, delete. Each is a POST to its own address.

Disabling cancels queued rows for good, so the control asks first when there are any, with their true number;
without queued rows it happens at once and offers Undo. The question is asked again when the number has grown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST, require_safe

from scheduler_app.errors import Conflict, NotFound
from scheduler_app.models import Job
from scheduler_app.queries.dashboard import count_waiting
from scheduler_app.queries.jobs import get_job
from scheduler_app.services.executions import create_manual_execution
from scheduler_app.services.jobs import delete_job, disable_job, enable_job
from scheduler_app.views.access import operators_only
from scheduler_app.views.job_rows import rows_of
from scheduler_app.views.jobs import detail_context, no_such_job
from scheduler_app.views.pages import page
from scheduler_app.views.partials import (
    LIVE_ID,
    ask_first,
    done,
    is_fragment_request,
    refused,
    render_region,
    target_of,
)
from scheduler_app.views.viewer import current_viewer


@require_POST
@operators_only
def trigger(request: HttpRequest, job_id: int) -> HttpResponse:
    """Queue one run now."""

    def act() -> HttpResponse:
        execution = create_manual_execution(job_id=job_id, actor=current_viewer(request).name)
        said = f"Queued one run of {execution.job.name} (execution {execution.pk})"
        return done(request, said=said, back=_back(request, job_id), part=_part(request, job_id))

    return _guarded(request, job_id, act)


@require_POST
@operators_only
def enable(request: HttpRequest, job_id: int) -> HttpResponse:
    """Let it run again from its next slot."""

    def act() -> HttpResponse:
        job = enable_job(job_id=job_id, actor=current_viewer(request).name)
        return done(
            request, said=f"{job.name} is enabled", back=_back(request, job_id), part=_part(request, job_id)
        )

    return _guarded(request, job_id, act)


@require_POST
@operators_only
def disable(request: HttpRequest, job_id: int) -> HttpResponse:
    """Stop it. With `ask` a question comes first when rows are queued; with `expected`, when more are now."""

    def act() -> HttpResponse:
        if _must_ask(request, job_id):
            context = _question(request, get_job(job_id))
            return ask_first(request, "jobs/_disable.html", context, page=f"/jobs/{job_id}/disable/confirm/")
        result = disable_job(job_id=job_id, actor=current_viewer(request).name)
        cancelled = (
            f"; {result.cancelled} queued {_rows(result.cancelled)} cancelled" if result.cancelled else ""
        )
        undo = "" if result.cancelled else f"/jobs/{job_id}/enable/"
        said = f"{result.job.name} is disabled{cancelled}"
        return done(request, said=said, back=_back(request, job_id), undo=undo, part=_part(request, job_id))

    return _guarded(request, job_id, act)


@operators_only
@require_safe
def confirm_disable(request: HttpRequest, job_id: int) -> HttpResponse:
    """The question before disabling, as a dialog's content or a page."""
    return _ask(request, job_id, "jobs/_disable.html", "jobs/confirm.html")


@require_POST
@operators_only
def delete(request: HttpRequest, job_id: int) -> HttpResponse:
    """Take it away for good."""

    def act() -> HttpResponse:
        result = delete_job(job_id=job_id, actor=current_viewer(request).name)
        cancelled = (
            f"; {result.cancelled} queued {_rows(result.cancelled)} cancelled" if result.cancelled else ""
        )
        return done(request, said=f"{result.job.name} is deleted{cancelled}", back="/jobs/")

    return _guarded(request, job_id, act)


@operators_only
@require_safe
def confirm_delete(request: HttpRequest, job_id: int) -> HttpResponse:
    """The question before deleting."""
    return _ask(request, job_id, "jobs/_delete.html", "jobs/confirm.html")


def _guarded(request: HttpRequest, job_id: int, act: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return act()
    except NotFound as missing:
        return no_such_job(request, missing)
    except Conflict as conflict:
        return refused(request, conflict, back=f"/jobs/{job_id}/")


def _ask(request: HttpRequest, job_id: int, part: str, whole: str) -> HttpResponse:
    try:
        job = get_job(job_id)
        if job.deleted_at is not None:
            raise NotFound(f"no job {job_id}")
    except NotFound as missing:
        return no_such_job(request, missing)
    context = _question(request, job)
    if is_fragment_request(request):
        return page(request, part, context)
    return page(request, whole, {**context, "part": part})


def _question(request: HttpRequest, job: Job) -> dict[str, object]:
    row = target_of(request) == f"job-{job.pk}" or request.GET.get("part") == "row"
    return {"job": job, "waiting": count_waiting(job.pk), "target": f"job-{job.pk}" if row else LIVE_ID}


def _must_ask(request: HttpRequest, job_id: int) -> bool:
    """Whether the person has not yet seen how many rows this cancels."""
    expected = request.POST.get("expected", "")
    if "ask" not in request.POST and not expected:
        return False
    known = int(expected) if expected.isdecimal() and len(expected) < 9 else 0
    return count_waiting(job_id) > known


def _part(request: HttpRequest, job_id: int) -> Callable[[], str] | None:
    """What replaces the element that asked: a row of a list, or the live region of the job's page."""
    target = target_of(request)
    if target == f"job-{job_id}":
        return partial(_row_html, request, job_id)
    if target == LIVE_ID:
        return partial(_region_html, request, job_id)
    return None


def _row_html(request: HttpRequest, job_id: int) -> str:
    [row] = rows_of([get_job(job_id)])
    return render_to_string("jobs/_row.html", {"row": row, "viewer": current_viewer(request)}, request)


def _region_html(request: HttpRequest, job_id: int) -> str:
    context = detail_context(request, get_job(job_id), address=f"/jobs/{job_id}/")
    region = render_region(request, "jobs/_live_detail.html", context)
    return region.html + region.company


def _back(request: HttpRequest, job_id: int) -> str:
    """Where a plain form goes afterwards: the page of the job."""
    return f"/jobs/{job_id}/"


def _rows(count: int) -> str:
    return "row is" if count == 1 else "rows are"
