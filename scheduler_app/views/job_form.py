"""The job form: new and edit, the preview beside it, and the fields of the chosen task.

Every rule comes from the services; a refusal is 422 with the whole form and what was typed. The preview uses
the compiled schedule the scheduler will use.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_safe

from scheduler_app.domain.occurrences import Schedule, clock_note
from scheduler_app.domain.zones import known_zones
from scheduler_app.errors import Conflict, FieldError, NotFound, ValidationFailed
from scheduler_app.forms import JobForm, empty_form, form_of, named, typed_in, values_of
from scheduler_app.queries.jobs import get_job
from scheduler_app.services.job_definition import validate_new_job
from scheduler_app.services.jobs import create_job, edit_job
from scheduler_app.templatetags.marks import local_text, offset_text
from scheduler_app.views.access import operators_only
from scheduler_app.views.jobs import no_such_job
from scheduler_app.views.pages import page
from scheduler_app.views.partials import done
from scheduler_app.views.viewer import current_viewer

PREVIEW_RUNS = 10
SCHEDULE_FIELDS = (
    "schedule_type",
    "every",
    "cron",
    "run_at",
    "timezone",
    "starts_at",
    "ends_at",
    "dst_policy",
)
_PLACEHOLDER = {"name": "preview", "task": "always_succeed"}


@operators_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_job(request: HttpRequest) -> HttpResponse:
    """The empty form (`?task=` chooses a task, `?from=` copies a job), or its creation."""
    if request.method != "POST":
        return _form_page(request, _first_form(request))
    typed = typed_in(request.POST)
    try:
        job = create_job(values=values_of(typed), actor=current_viewer(request).name)
    except ValidationFailed as refusal:
        return _form_page(request, JobForm(typed, refusal.errors), status=422)
    except Conflict as conflict:
        return _form_page(request, JobForm(typed, named((), conflict.message)), status=422)
    state = "created" if job.enabled else "created disabled"
    return done(request, said=f"{job.name} is {state}", back=f"/jobs/{job.pk}/")


@operators_only
@require_http_methods(["GET", "HEAD", "POST"])
def change_job(request: HttpRequest, job_id: int) -> HttpResponse:
    """The stored values, or their change; 409 when somebody changed the job meanwhile."""
    try:
        job = get_job(job_id)
        if job.deleted_at is not None:
            raise NotFound(f"no job {job_id}")
        if request.method != "POST":
            return _form_page(request, form_of(job), job_id=job_id, version=job.version)
        return _save(request, job_id, job.version)
    except NotFound as missing:
        return no_such_job(request, missing)


def _save(request: HttpRequest, job_id: int, stored_version: int) -> HttpResponse:
    typed = typed_in(request.POST)
    version = typed.get("version", "")
    expected = int(version) if version.isdecimal() and len(version) < 10 else None
    try:
        job = edit_job(
            job_id=job_id,
            values=values_of(typed, editing=True),
            actor=current_viewer(request).name,
            expected_version=expected,
        )
    except ValidationFailed as refusal:
        form = JobForm(typed, refusal.errors)
        return _form_page(request, form, job_id=job_id, version=expected or stored_version, status=422)
    except Conflict as conflict:
        if expected is not None and expected != stored_version:
            error = FieldError("version", "changed", conflict.message)
            form, status = JobForm(typed, (error,)), 409
            return _form_page(request, form, job_id=job_id, version=stored_version, status=status)
        form = JobForm(typed, named((), conflict.message))
        return _form_page(request, form, job_id=job_id, version=stored_version, status=422)
    return done(request, said=f"{job.name} is saved", back=f"/jobs/{job.pk}/")


@operators_only
@require_safe
def preview(request: HttpRequest) -> HttpResponse:
    """Sentence and next runs of the typed schedule, or what is wrong with it; always 200."""
    return page(request, "jobs/_preview.html", {"preview": preview_of(request, typed_in(request.GET))})


@operators_only
@require_safe
def task_fields(request: HttpRequest) -> HttpResponse:
    """The fields of the chosen task, with what was typed under equal names."""
    return page(request, "jobs/_task_fields.html", {"form": JobForm(typed_in(request.GET))})


def preview_of(request: HttpRequest, typed: Mapping[str, str]) -> dict[str, object]:
    """What the preview panel shows of a typed schedule."""
    values = {name: value for name, value in values_of(typed).items() if name in SCHEDULE_FIELDS}
    wanted = next((name for name in ("every", "cron", "run_at") if name in values), "")
    if wanted and not values[wanted]:
        return {"waiting": True}
    now = current_viewer(request).now
    values.update(_kept_anchor(typed, values))
    try:
        definition = validate_new_job({**_PLACEHOLDER, **values}, now=now)
    except ValidationFailed as refusal:
        return {"errors": JobForm(typed, refusal.errors).summary}
    zone_name = str(definition.columns["timezone"])
    return {
        "sentence": definition.schedule.describe().partition(", counted from")[0],
        "zone": zone_name,
        "offset": offset_text(now.astimezone(ZoneInfo(zone_name))),
        "runs": _runs(request, definition.schedule, zone_name, now),
    }


def _kept_anchor(typed: Mapping[str, str], values: Mapping[str, object]) -> dict[str, object]:
    """The anchor of the job being edited, as long as its interval is the one that is stored."""
    of_job = typed.get("of_job", "")
    if "every" not in values or not (of_job.isdecimal() and len(of_job) < 19):
        return {}
    try:
        job = get_job(int(of_job))
    except NotFound:
        return {}
    same = job.schedule == {"every": values["every"]}
    return {"anchor_at": job.anchor_at} if same and job.anchor_at else {}


def _runs(request: HttpRequest, schedule: Schedule, zone_name: str, now: datetime) -> list[dict[str, object]]:
    own, viewer = ZoneInfo(zone_name), current_viewer(request)
    runs: list[dict[str, object]] = []
    at = schedule.next(now)
    while at is not None and len(runs) < PREVIEW_RUNS:
        local = at.astimezone(own)
        other = "" if viewer.zone_name == zone_name else local_text(at, viewer.zone, now)
        text = f"{local:%a} {local.day} {local:%b %Y %H:%M:%S}"
        runs.append({"at": at, "local": text, "viewer": other, "note": clock_note(schedule, at)})
        at = schedule.next(at)
    return runs


def _first_form(request: HttpRequest) -> JobForm:
    """Defaults, a copy of another job, or what a plain "show its settings" button sent along."""
    typed = typed_in(request.GET)
    copied = typed.get("from", "")
    if copied.isdecimal() and len(copied) < 19:
        try:
            original = form_of(get_job(int(copied)))
        except NotFound:
            return empty_form()
        return JobForm({**original.typed, "name": f"{original.typed['name']} (copy)"[:200]})
    return JobForm({**empty_form().typed, **typed})


def _form_page(
    request: HttpRequest,
    form: JobForm,
    *,
    job_id: int | None = None,
    version: int | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "job_id": job_id,
        "version": version,
        "zones": sorted(known_zones()),
        "preview": preview_of(request, {**form.typed, "of_job": str(job_id or "")}),
    }
    return page(request, "jobs/form.html", context, status=status)
