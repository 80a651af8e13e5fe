"""How states, instants and lengths of time look: one name, colour and icon for a thing on every page.

Instants are written in full in the viewer's zone; the short "3 min ago" beside them is filled in by the
browser, so that the text of the server stays the same until the data changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduler_app.clock import iso
from scheduler_app.models import Attempt, Execution, Job

register = template.Library()


@dataclass(frozen=True, slots=True)
class Mark:
    """Class, icon and word of a state."""

    css: str
    icon: str
    label: str


EXECUTION_MARKS: Mapping[str, Mark] = {
    "pending": Mark("st-wait", "ring", "Queued"),
    "claimed": Mark("st-wait", "ring", "Claimed"),
    "running": Mark("st-run", "ring-open", "Running"),
    "retry_scheduled": Mark("st-retry", "retry", "Retrying"),
    "succeeded": Mark("st-ok", "tick", "Succeeded"),
    "failed": Mark("st-fail", "cross", "Failed"),
    "timed_out": Mark("st-fail", "cross", "Timed out"),
    "missed": Mark("st-skip", "skip", "Skipped"),
    "cancelled": Mark("st-wait", "ring-barred", "Cancelled"),
    "dead_lettered": Mark("st-dead", "octagon", "Dead letter"),
}
OUTCOME_MARKS: Mapping[str, Mark] = {
    "succeeded": EXECUTION_MARKS["succeeded"],
    "failed": EXECUTION_MARKS["failed"],
    "timed_out": EXECUTION_MARKS["timed_out"],
    "lost": Mark("st-dead", "octagon", "Worker lost"),
    "released": Mark("st-wait", "ring", "Handed back"),
    "terminated": Mark("st-wait", "ring-barred", "Terminated"),
}
JOB_MARKS: Mapping[str, Mark] = {
    "active": Mark("st-none", "play", "Active"),
    "disabled": Mark("st-wait", "ring-barred", "Disabled"),
    "finished": Mark("st-wait", "tick", "Finished"),
    "fault": Mark("st-fail", "warn", "Held by a fault"),
    "deleted": Mark("st-wait", "trash", "Deleted"),
}
_UNKNOWN = Mark("st-wait", "info", "Unknown")


@register.simple_tag
def icon(name: str) -> SafeString:
    """A decorative icon of the sprite."""
    return format_html(
        '<svg class="i" aria-hidden="true"><use href="{}#{}"></use></svg>', static("icons.svg"), name
    )


def _pill(mark: Mark, label: str) -> SafeString:
    return format_html('<span class="pill {}">{}{}</span>', mark.css, icon(mark.icon), label)


@register.simple_tag
def execution_pill(execution: Execution) -> SafeString:
    """The state of an execution; a retry says which attempt comes next."""
    mark = EXECUTION_MARKS.get(execution.status, _UNKNOWN)
    label = mark.label
    if execution.status == "retry_scheduled":
        label = f"{label} {execution.attempts + 1}/{execution.max_attempts}"
    return _pill(mark, label)


@register.simple_tag
def status_icon(status: str) -> SafeString:
    """The icon of a state in its colour, with the word for who cannot see it."""
    mark = EXECUTION_MARKS.get(status, _UNKNOWN)
    return format_html('<span class="pill {}">{}{}</span>', mark.css, icon(mark.icon), mark.label)


@register.simple_tag
def outcome_pill(outcome: str) -> SafeString:
    """How an attempt ended."""
    mark = OUTCOME_MARKS.get(outcome, _UNKNOWN)
    return _pill(mark, mark.label)


@register.simple_tag
def job_pill(job: Job) -> SafeString:
    """Whether a job is active, and if not why."""
    mark = JOB_MARKS.get(job.state, _UNKNOWN)
    return _pill(mark, mark.label)


@register.simple_tag(takes_context=True)
def when(context: template.Context, at: datetime | None, relative: str = "yes") -> SafeString | str:
    """An instant in the viewer's zone, and room for "in 3 min"; `relative`: yes, no or due (may be late)."""
    if at is None:
        return "–"
    viewer = context["viewer"]
    text = local_text(at, viewer.zone, viewer.now)
    stamp = iso(at) or ""
    shown = format_html('<time datetime="{}">{}</time>', stamp, text)
    if relative == "no":
        return shown
    due = SafeString(" data-due") if relative == "due" else ""
    return format_html('{}<span class="rel" data-rel="{}"{}></span>', shown, stamp, due)


@register.simple_tag
def in_zone(at: datetime, zone_name: str) -> str:
    """An instant on the clock of a zone with its offset: `Mon 30 Nov 2026 09:00:00 (UTC−08:00)`."""
    local = _on_the_clock(at, zone_name)
    return f"{local:%a} {local.day} {local:%b %Y %H:%M:%S} ({offset_text(local)})"


def local_text(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """`30 Nov 14:05:00`, with the year when it is not this one."""
    local = _on_the_clock(at, zone.key)
    year = "" if local.year == now.year else f" {local.year}"
    return f"{local.day} {local:%b}{year} {local:%H:%M:%S}"


def _on_the_clock(at: datetime, zone_name: str) -> datetime:
    """The instant in a zone; in UTC when a stored row names no zone or lies at the edge of the calendar."""
    try:
        return at.astimezone(ZoneInfo(zone_name))
    except (KeyError, ValueError, OSError, OverflowError):
        return at.astimezone(UTC)


def offset_text(local: datetime) -> str:
    """`UTC−08:00`; plain `UTC` for no offset."""
    offset = local.isoformat()[-6:].replace("-", "−")
    return "UTC" if offset == "+00:00" else f"UTC{offset}"


def duration_text(length: timedelta | float | None) -> str:
    """`0.42 s`, `12.3 s`, `4 m 05 s`, `2 h 03 m`; a dash for none."""
    if length is None:
        return "–"
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds < 10:
        return f"{max(seconds, 0):.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


@register.filter
def seconds(value: timedelta | float | None) -> str:
    """A length of time as people read it."""
    return duration_text(value)


@register.filter
def run_time(execution: Execution) -> str:
    """How long the last attempt ran; a dash while it has not ended."""
    if execution.started_at is None or execution.finished_at is None:
        return "–"
    return duration_text(execution.finished_at - execution.started_at)


@register.filter
def attempt_length(attempt: Attempt) -> str:
    """How long an attempt took."""
    return duration_text(attempt.finished_at - attempt.started_at)


@register.filter
def start_lag(execution: Execution) -> str:
    """How long after its due time the run started; empty below a second or when that means nothing."""
    if execution.started_at is None or execution.trigger != "schedule":
        return ""
    lag = execution.started_at - execution.scheduled_for
    return f"+{duration_text(lag)}" if lag > timedelta(seconds=1) else ""


@register.filter
def pretty_json(value: object) -> str:
    """A JSON value on several lines, keys in their order."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def megabytes(value: int | None) -> str:
    """Bytes as `12.3 MB`; a dash for none."""
    return "–" if value is None else f"{value / 1_000_000:.1f} MB"


@register.filter
def percent(share: float | None) -> str:
    """0.9876 as `98.8 %`; whole numbers at the ends, so that 100 % means all."""
    if share is None:
        return "–"
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(share, 0.001), 0.999):.1%}".replace("%", " %")


@register.filter
def status_class(execution: Execution) -> str:
    """The colour class of an execution's state."""
    return EXECUTION_MARKS.get(execution.status, _UNKNOWN).css
