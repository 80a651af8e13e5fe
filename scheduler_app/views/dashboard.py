"""The dashboard: is anything wrong now, what ran, what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from scheduler_app.conf import conf
from scheduler_app.errors import Conflict, NotFound
from scheduler_app.models import Job
from scheduler_app.queries import dashboard as figures
from scheduler_app.services.alerts import resolve_alert
from scheduler_app.views.access import operators_only
from scheduler_app.views.errors import error_page
from scheduler_app.views.home import COMMANDS
from scheduler_app.views.job_rows import rows_of
from scheduler_app.views.pages import live_page
from scheduler_app.views.partials import Context, done, live_settings, refused
from scheduler_app.views.viewer import current_viewer

JOBS_SHOWN = 25
ACTIVITY_SHOWN = 12
NEXT_SHOWN = 8
ATTENTION_SHOWN = 5
LIVE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the first-start checklist."""

    label: str
    done: bool
    command: str


@operators_only
@require_safe
def dashboard(request: HttpRequest) -> HttpResponse:
    """Live every 5 s."""
    return live_page(request, "dashboard/dashboard.html", "dashboard/_live.html", lambda: _context(request))


@require_POST
@operators_only
def resolve(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Mark one alert resolved."""
    try:
        alert = resolve_alert(alert_id=alert_id, actor=current_viewer(request).name)
    except NotFound as missing:
        return error_page(request, 404, "There is no such alert", missing.message)
    except Conflict as conflict:
        return refused(request, conflict, back="/dashboard/")
    return done(request, said=f"Alert {alert.pk} is resolved", back="/dashboard/")


def _context(request: HttpRequest) -> Context:
    now = current_viewer(request).now
    tiles = figures.tiles(now=now)
    jobs = figures.jobs_panel(JOBS_SHOWN, _rows_on_screen(request))
    shown = ".".join(str(job.pk) for job in jobs)
    return {
        "live": live_settings(request, seconds=LIVE_SECONDS, jobs=shown),
        "tiles": tiles,
        "alerts": figures.open_alerts(ATTENTION_SHOWN),
        "pause": figures.pause_of_everything(now=now),
        "activity": figures.recent_activity(ACTIVITY_SHOWN),
        "next_jobs": figures.next_jobs(NEXT_SHOWN),
        "rows": rows_of(jobs),
        "more_jobs": len(jobs) == JOBS_SHOWN and figures.jobs_exceed(JOBS_SHOWN),
        "stale": _is_stale(tiles, now),
        "steps": _first_steps(tiles, jobs),
    }


def _rows_on_screen(request: HttpRequest) -> list[int]:
    """The ids of the job rows a reader sees, which a tick must not move; rubbish is none."""
    words = request.GET.get("jobs", "").split(".")[:JOBS_SHOWN]
    return [int(word) for word in words if word.isdecimal() and word.isascii() and len(word) < 19]


def _is_stale(tiles: figures.Tiles, now: datetime) -> bool:
    """Whether no scheduler has given a sign of life for three heartbeats, though one did before."""
    last = tiles.last_scheduler_beat_at
    limit = timedelta(seconds=conf().heartbeat_seconds * figures.STALE_BEATS)
    return last is not None and tiles.schedulers == 0 and now - last > limit


def _first_steps(tiles: figures.Tiles, jobs: list[Job]) -> list[Step]:
    """What is left to do before the first run; empty when all is in place."""
    steps = [
        Step("A scheduler is running", tiles.schedulers > 0, "python manage.py scheduler run"),
        Step("A worker is running", tiles.workers > 0, "python manage.py worker run"),
        Step("There is a job", bool(jobs), COMMANDS[0]),
    ]
    return [] if all(step.done for step in steps) else steps
