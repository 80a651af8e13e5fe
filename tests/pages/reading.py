"""Reading answers in tests: the live region of a page, its token, and requests as htmx makes them."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from django.test import Client


def text_of(response: Any) -> str:
    """The body as text."""
    return bytes(response.content).decode()


def live_address(html: str) -> str:
    """Where the live region of this page or fragment asks next."""
    found = re.search(r'id="live"[^>]*hx-get="([^"]*)"', html)
    assert found, "no live region with hx-get"
    return unescape(found.group(1))


def ask(client: Client, address: str, *, target: str = "live", **headers: str) -> Any:
    """GET as htmx does it."""
    wanted = {"HX-Request": "true", "HX-Target": target, **headers}
    return client.get(address, headers=wanted)


def act(client: Client, address: str, *, target: str = "live", **fields: str) -> Any:
    """POST as htmx does it."""
    wanted = {"HX-Request": "true", "HX-Target": target}
    return client.post(address, fields, headers=wanted)
