"""Signing in and out. Sign-in never tells whether a user exists; many failures close it for a while.

It leads to the page the person came from when that is of this site, else to the dashboard.
"""

from __future__ import annotations

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from scheduler_app.clock import database_now
from scheduler_app.services.login_limits import login_allowed, note_failure, note_success
from scheduler_app.views.access import LANDING, safe_next
from scheduler_app.views.pages import page
from scheduler_app.views.partials import SeeOther
from scheduler_app.views.viewer import current_viewer

WRONG_PAIR = "This user name and password do not belong together."


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form, or the attempt."""
    wanted = request.POST.get("next") or request.GET.get("next", "")
    came_from = safe_next(wanted) if wanted else ""
    if request.method == "POST":
        return _attempt(request, came_from)
    if current_viewer(request).signed_in:
        return SeeOther(came_from or LANDING)
    return _form(request, came_from)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session; back to the home page."""
    logout(request)
    return SeeOther("/")


def _attempt(request: HttpRequest, came_from: str) -> HttpResponse:
    username = request.POST.get("username", "")[:150].replace("\x00", "")
    address = request.META.get("REMOTE_ADDR", "")
    now = database_now()
    wait = login_allowed(username=username, address=address, now=now)
    if wait:
        minutes, seconds = divmod(int(wait), 60)
        said = f"Too many attempts. Try again in {minutes} min {seconds:02d} s."
        response = _form(request, came_from, problem=said, username=username, status=429)
        response["Retry-After"] = str(int(wait))
        return response
    password = request.POST.get("password", "")[:1024]
    user = None if "\x00" in password else authenticate(request, username=username, password=password)
    if user is None:
        note_failure(username=username, address=address, now=now)
        return _form(request, came_from, problem=WRONG_PAIR, username=username, status=422)
    note_success(username=username, address=address, now=now)
    login(request, user)
    if not request.POST.get("remember"):
        request.session.set_expiry(0)
    return SeeOther(came_from or LANDING)


def _form(
    request: HttpRequest, came_from: str, *, problem: str = "", username: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "came_from": came_from,
        "problem": problem,
        "username": username,
        "remember": bool(request.POST.get("remember")),
    }
    return page(request, "sign_in/login.html", context, status=status)
