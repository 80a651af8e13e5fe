"""What every request passes: probes answered before anything else, a request id, the viewer, page headers.

Order in the settings: `answer_probes` first (before hosts, sessions and redirects are looked at), then
`name_request`, and `know_viewer` after authentication.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from scheduler_app.views.errors import bad_request
from scheduler_app.views.probes import healthz, readyz
from scheduler_app.views.viewer import viewer_of

GetResponse = Callable[[HttpRequest], HttpResponseBase]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {"/healthz": healthz, "/readyz": readyz}


def answer_probes(get_response: GetResponse) -> GetResponse:
    """`/healthz` and `/readyz`: any Host header, no session, no redirect to https."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        probe = _PROBES.get(request.path_info)
        return probe(request) if probe else get_response(request)

    return middleware


def name_request(get_response: GetResponse) -> GetResponse:
    """Give each request an id (a sane one that came in is kept), in the log lines and in `X-Request-Id`."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = get_response(request)
        response.headers["X-Request-Id"] = request_id
        return response

    return middleware


def know_viewer(get_response: GetResponse) -> GetResponse:
    """Attach the viewer, refuse what no page can mean, and mark every page as private to its reader."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        request.viewer = viewer_of(request)  # type: ignore[attr-defined]
        fault = "\x00" in request.path or "%00" in request.META.get("QUERY_STRING", "")
        response: HttpResponseBase = bad_request(request, None) if fault else get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ["HX-Request", "Cookie"])
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return middleware
