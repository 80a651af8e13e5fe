"""Error pages: what happened in one sentence, and one way out. Fragments get the status alone."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from scheduler_app.views.partials import is_fragment_request
from scheduler_app.views.viewer import current_viewer

_HOME = {"url": "/", "label": "Start page"}


def error_page(
    request: HttpRequest, status: int, heading: str, sentence: str, way_out: dict[str, str] | None = None
) -> HttpResponse:
    """One page for all client errors."""
    if is_fragment_request(request):
        return HttpResponse(status=status)
    context = {
        "status": status,
        "heading": heading,
        "sentence": sentence,
        "way_out": way_out or _HOME,
        "viewer": current_viewer(request),
        "request_id": getattr(request, "request_id", ""),
    }
    return render(request, "errors/error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None, sentence: str = "") -> HttpResponse:
    """400: the address or the form holds something no page can mean."""
    if not hasattr(request, "user"):
        return HttpResponse("Bad request\n", status=400, content_type="text/plain")
    said = sentence or "The address holds something this page cannot read. Start again from a list."
    return error_page(request, 400, "That request cannot be read", said)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403 for who is signed in but not allowed."""
    return error_page(request, 403, "Not allowed", "Your account lacks the permission to do this.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the form carried no valid token of this session."""
    said = "The form carried no valid token of your session. Nothing was changed; load the page and repeat."
    return error_page(request, 403, "The form was refused", said)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404 for an address that no page has."""
    return error_page(
        request, 404, "There is no such page", "The address may be mistyped, or what it showed is gone."
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """500 without touching session or database, which may be the cause."""
    request_id = getattr(request, "request_id", "")
    if is_fragment_request(request):
        return HttpResponse(status=500)
    return HttpResponse(render_to_string("500.html", {"request_id": request_id}), status=500)
