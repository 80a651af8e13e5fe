"""The one place that reads or sets htmx headers: which answer is a fragment, and how a live region is made.

A region is rendered once, hashed, and carries its own hash in the address it asks next; the same hash is
answered with 204, so an unchanged page costs no swap. Watchers of one view share a rendering for a second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseRedirectBase
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from scheduler_app.errors import SchedulerError
from scheduler_app.views.viewer import current_viewer

LIVE_ID = "live"
SHARED_SECONDS = 1
_TOKEN_PLACE = "token-of-this-region"

Context = Mapping[str, object]


class SeeOther(HttpResponseRedirectBase):
    """303: the browser reads the next page with GET, whatever was sent here."""

    status_code = 303


@dataclass(frozen=True, slots=True)
class Live:
    """How a region refreshes: its address with room for the token ("" for never), and the base interval."""

    url: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Region:
    """A rendered live region, what goes with it out of band, and the token that names this very content."""

    html: SafeString
    company: SafeString
    token: str


NOT_LIVE = Live("", 0)


def is_fragment_request(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of a page; a restored page of the history is a whole page."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and headers.get("HX-History-Restore-Request") != "true"


def target_of(request: HttpRequest) -> str:
    """The id of the element the answer will replace; empty for a plain request."""
    return request.headers.get("HX-Target", "") if is_fragment_request(request) else ""


def live_settings(request: HttpRequest, *, path: str = "", seconds: int, **extra: str) -> Live:
    """A live region at the address of this request, filters kept (or at `path`), with `extra` fields."""
    fields = {} if path else dict(request.GET.items())
    query = urlencode({**fields, **extra, "have": _TOKEN_PLACE})
    return Live(f"{path or request.path}?{query}", seconds)


def render_region(request: HttpRequest, template: str, context: Context) -> Region:
    """Render a region; `context["live"]` is a Live. The token is a hash of everything but the token."""
    viewer = current_viewer(request)
    html = render_to_string(template, {**context, "viewer": viewer}, request)
    badge = {"viewer": viewer, "out_of_band": True}
    company = render_to_string("parts/badge.html", badge) if viewer.may_operate else ""
    token = hashlib.sha256(f"{html}{company}".encode()).hexdigest()[:16]
    # Both texts come from templates, which escape; only the token is put in here.
    return Region(mark_safe(html.replace(_TOKEN_PLACE, token, 1)), mark_safe(company), token)


def region_answer(request: HttpRequest, template: str, make_context: Callable[[], Context]) -> HttpResponse:
    """Answer a tick or a filter change: 204 for the same content, else the region and the header's badge."""
    viewer = current_viewer(request)
    query = urlencode(sorted((name, value) for name, value in request.GET.items() if name != "have"))
    asked = "|".join((template, request.path, query, str(viewer.may_operate), viewer.zone_name))
    key = f"region:{hashlib.sha256(asked.encode()).hexdigest()}"
    shared = cache.get(key) if "have" in request.GET else None
    if not (isinstance(shared, list) and len(shared) == 2):
        region = render_region(request, template, make_context())
        shared = [f"{region.html}{region.company}", region.token]
        cache.set(key, shared, SHARED_SECONDS)
    if request.GET.get("have") == shared[1]:
        return HttpResponse(status=204)
    return HttpResponse(shared[0])


def done(
    request: HttpRequest, *, said: str, back: str, undo: str = "", part: Callable[[], str] | None = None
) -> HttpResponse:
    """Answer an action that worked: the changed part and a toast, else 303 to `back` with the message."""
    if is_fragment_request(request) and part is not None:
        toast = render_to_string("parts/toast_out_of_band.html", {"text": said, "undo": undo})
        return HttpResponse(part() + toast)
    messages.success(request, said, extra_tags=undo)
    return move_on(request, back)


def refused(request: HttpRequest, error: SchedulerError, *, back: str, status: int = 409) -> HttpResponse:
    """Answer an action that the state does not allow: its sentence as a toast, or on the page `back`."""
    if is_fragment_request(request):
        return HttpResponse(status=status, headers={"X-Message": quote(error.message)})
    messages.error(request, error.message)
    return SeeOther(back)


def ask_first(request: HttpRequest, template: str, context: Context, *, page: str) -> HttpResponse:
    """Put a question before an action: into the dialog for htmx, else 303 to the page that asks it."""
    if not is_fragment_request(request):
        return SeeOther(page)
    html = render_to_string(template, {**context, "viewer": current_viewer(request)}, request)
    response = HttpResponse(html)
    response["HX-Retarget"] = "#dlg"
    response["HX-Reswap"] = "innerHTML"
    return response


def move_on(request: HttpRequest, address: str) -> HttpResponse:
    """Go to another page: 303, or HX-Redirect when htmx asked."""
    if is_fragment_request(request):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return SeeOther(address)


def signed_out() -> HttpResponse:
    """What htmx gets without a session: 401 and an event; a redirect would paste the sign-in page in."""
    return HttpResponse(status=401, headers={"HX-Trigger": json.dumps({"app:signed-out": {}})})
