"""Who may open which page: two decorators that every view carries.

Public pages stay open to readers; pages with output, error, config or actions need sign-in. The decision is
made per view, because a fragment can be asked for alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from posixpath import normpath
from typing import Concatenate, ParamSpec
from urllib.parse import unquote, urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

from scheduler_app.views.partials import is_fragment_request, signed_out
from scheduler_app.views.viewer import current_viewer

P = ParamSpec("P")
LANDING = "/dashboard/"


def operators_only(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Sign-in is needed, unless WEBUI_AUTH=0 opened the site."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if current_viewer(request).may_operate:
            return view(request, *args, **kwargs)
        return to_sign_in(request)

    return guarded


def readers(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Open without sign-in, unless WEBUI_PUBLIC_READ=0 closed the history."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if current_viewer(request).may_read_history:
            return view(request, *args, **kwargs)
        return to_sign_in(request)

    return guarded


def to_sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page and back afterwards; an action leads back to the page it was on, not to itself."""
    if is_fragment_request(request):
        return signed_out()
    if request.method in ("GET", "HEAD"):
        target = request.get_full_path()
    else:
        came_from = urlsplit(request.headers.get("Referer", ""))
        query = f"?{came_from.query}" if came_from.query else ""
        target = safe_next(f"{came_from.path}{query}")
    return redirect(f"/login/?{urlencode({'next': target})}")


def safe_next(wanted: str) -> str:
    """`wanted` when it is a path of this site that can be opened, else the dashboard; never sign-out."""
    same_site = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    if not same_site or "\\" in wanted or not wanted.isprintable():
        return LANDING
    return LANDING if normpath(unquote(urlsplit(wanted).path)) == "/logout" else wanted
