"""Who looks at a page: what this person may see and do, in which zone and theme the server renders it.

Access rules live here and in `access.py` alone; templates ask the viewer and never compare settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from scheduler_app.clock import database_now
from scheduler_app.conf import conf
from scheduler_app.domain.zones import known_zones
from scheduler_app.queries.dashboard import ALERTS_SHOWN_AT_MOST, count_open_alerts

ANONYMOUS = "anonymous"
_THEMES = ("light", "dark")


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """One link of the header."""

    label: str
    url: str
    here: bool
    badge: bool = False


@dataclass
class Viewer:
    """The person behind a request. `may_operate` covers every action and the pages with output."""

    name: str
    signed_in: bool
    may_operate: bool
    may_read_history: bool
    zone_name: str
    theme: str
    path: str = field(repr=False, default="/")

    @cached_property
    def now(self) -> datetime:
        """The one instant of this request, from the database clock."""
        return database_now()

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which absolute times are written."""
        return ZoneInfo(self.zone_name)

    @property
    def zone_offset(self) -> str:
        """The present offset of that zone, such as `UTC+02:00`."""
        return f"UTC{self.now.astimezone(self.zone).isoformat()[-6:]}"

    @cached_property
    def open_alerts(self) -> int:
        """Alerts that are open now, counted to a bound; 0 for who may not see them."""
        return count_open_alerts() if self.may_operate else 0

    @property
    def open_alerts_text(self) -> str:
        """The same as the badge shows it."""
        bound = ALERTS_SHOWN_AT_MOST
        return f"{bound}+" if self.open_alerts > bound else str(self.open_alerts)

    @property
    def navigation(self) -> list[NavigationEntry]:
        """The header's links to pages that this person may open."""
        entries = [("Dashboard", "/dashboard/", self.may_operate), ("Jobs", "/jobs/", True)]
        entries.append(("Executions", "/executions/", self.may_read_history))
        return [
            NavigationEntry(label, url, self.path.startswith(url), badge=url == "/dashboard/")
            for label, url, open_to_viewer in entries
            if open_to_viewer
        ]


def viewer_of(request: HttpRequest) -> Viewer:
    """The viewer of a request, from session, settings and two cookies; unknown cookie values are ignored."""
    user = request.user
    settings = conf()
    may_operate = user.is_authenticated or not settings.webui_auth
    zone = unquote(request.COOKIES.get("zone", ""))
    theme = request.COOKIES.get("theme", "")
    return Viewer(
        name=user.get_username() if user.is_authenticated else ANONYMOUS,
        signed_in=user.is_authenticated,
        may_operate=may_operate,
        may_read_history=may_operate or settings.webui_public_read,
        zone_name=zone if zone in known_zones() else "UTC",
        theme=theme if theme in _THEMES else "",
        path=request.path,
    )


def current_viewer(request: HttpRequest) -> Viewer:
    """The viewer that the middleware attached to this request."""
    viewer = getattr(request, "viewer", None)
    if not isinstance(viewer, Viewer):
        viewer = viewer_of(request)
        request.viewer = viewer  # type: ignore[attr-defined]
    return viewer
