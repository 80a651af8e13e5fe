"""Rendering of whole pages and the small readings of a request that several areas share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from scheduler_app.errors import FieldError, ValidationFailed
from scheduler_app.views.partials import LIVE_ID, Context, region_answer, render_region, target_of
from scheduler_app.views.viewer import current_viewer

MAX_TEXT = 200


def page(request: HttpRequest, template: str, context: Context, *, status: int = 200) -> HttpResponse:
    """A whole page with its viewer."""
    return render(request, template, {**context, "viewer": current_viewer(request)}, status=status)


def live_page(
    request: HttpRequest, template: str, region_template: str, make_context: Callable[[], Context]
) -> HttpResponse:
    """A page with one live region, or that region alone when htmx asks for it; one template, one context."""
    if target_of(request) == LIVE_ID:
        return region_answer(request, region_template, make_context)
    context = make_context()
    region = render_region(request, region_template, context)
    return page(request, template, {**context, "region": region.html, "show_live": True})


def query_text(request: HttpRequest, name: str) -> str:
    """A text of the query string, trimmed; one that no list can hold is refused. Raises ValidationFailed."""
    text = request.GET.get(name, "").strip()
    if len(text) > MAX_TEXT or "\x00" in text:
        message = f"is refused; at most {MAX_TEXT} characters without NUL"
        raise ValidationFailed([FieldError(name, "text", message)])
    return text


def page_links(request: HttpRequest, older: str | None, label: str) -> Mapping[str, str]:
    """Links to the newest and the next older part of a list, filters kept."""
    kept = [(name, value) for name, value in request.GET.items() if name not in ("cursor", "have", "top")]
    links = {"label": label, "newest": "", "older": ""}
    if request.GET.get("cursor"):
        links["newest"] = f"{request.path}?{urlencode(kept)}" if kept else request.path
    if older:
        links["older"] = f"{request.path}?{urlencode([*kept, ('cursor', older)])}"
    return links
