"""The public home page: what this is, the way in, the lines to try. It reads nothing and sets no cookie."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from scheduler_app.views.pages import page

COMMANDS = (
    'python manage.py job add "Every minute" always_succeed interval --every 60s',
    "python manage.py job list",
    "python manage.py execution list",
)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Readable by everybody."""
    return page(request, "home/home.html", {"commands": COMMANDS})
