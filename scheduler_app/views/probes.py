"""`/healthz` and `/readyz`: is the web process alive, and may traffic be sent to it.

The first touches nothing. The second asks the readiness query, which is bounded in time by itself; whatever
it meets is an answer, never an error page.
"""

from __future__ import annotations

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse

from scheduler_app.queries.health import readiness


def healthz(request: HttpRequest) -> HttpResponse:
    """200 whenever Django runs."""
    return _only_read(request) or _json({"status": "ok"}, 200)


def readyz(request: HttpRequest) -> HttpResponse:
    """200 with all checks ok, else 503 with the failing check named."""
    refusal = _only_read(request)
    if refusal:
        return refusal
    try:
        ready, checks = readiness()
    except (DatabaseError, OSError) as error:
        ready, checks = False, [{"name": "database", "status": "down", "detail": type(error).__name__}]
    return _json({"status": "ok" if ready else "down", "checks": checks}, 200 if ready else 503)


def _only_read(request: HttpRequest) -> HttpResponse | None:
    if request.method in ("GET", "HEAD"):
        return None
    return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})


def _json(document: dict[str, object], status: int) -> HttpResponse:
    return JsonResponse(document, status=status, headers={"Cache-Control": "no-store"})
