"""Paging by key: a page starts below the id its cursor names, so page 1,000 costs what page 1 costs.

A cursor is opaque to callers; it carries one id. What was not made here is refused as a field error, and a
page size outside 1 to `MAX_PAGE_ITEMS` too.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from scheduler_app.errors import FieldError, ValidationFailed

Item = TypeVar("Item")
MAX_PAGE_ITEMS = 1000
MAX_ID = 2**63 - 1
_PREFIX = "before:"


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items, newest first, and the cursor of the next page; None when nothing older is left."""

    items: list[Item]
    next: str | None


def encode_cursor(before_id: int) -> str:
    """The cursor of the page that holds ids below `before_id`."""
    return base64.urlsafe_b64encode(f"{_PREFIX}{before_id}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> int:
    """The id a cursor carries. Raises ValidationFailed (field `cursor`) for a made-up one."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
        before_id = int(text.removeprefix(_PREFIX))
    except (UnicodeError, binascii.Error, ValueError):
        raise _bad_cursor() from None
    if not 1 <= before_id <= MAX_ID or encode_cursor(before_id) != cursor:
        raise _bad_cursor()
    return before_id


def check_limit(limit: int) -> int:
    """The page size itself. Raises ValidationFailed (field `limit`) outside 1 to MAX_PAGE_ITEMS."""
    if 1 <= limit <= MAX_PAGE_ITEMS:
        return limit
    message = f"{limit} is refused; must be from 1 to {MAX_PAGE_ITEMS}"
    raise ValidationFailed([FieldError("limit", "out_of_range", message)])


def page_of(rows: list[Item], limit: int, id_of: Callable[[Item], int]) -> Page[Item]:
    """The page of `limit` items out of up to `limit` + 1 rows: the one too many only says that more exist."""
    items = rows[:limit]
    more = len(rows) > limit
    return Page(items, encode_cursor(id_of(items[-1])) if more else None)


def is_searchable(text: str) -> bool:
    """Whether a database can look for this text; NUL and broken Unicode are in no row."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _bad_cursor() -> ValidationFailed:
    message = "this is not a cursor of this list; take it from `next` of the page before, or leave it out"
    return ValidationFailed([FieldError("cursor", "invalid_cursor", message)])
