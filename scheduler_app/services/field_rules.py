"""Checks of single values, shared by every door: text, whole numbers, choices, instants, names.

Each check returns the clean value or raises `Refused` with a stable code and a sentence that shows the
value, the rule and an accepted form. Nothing here knows which job field it is looking at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

SHOWN_CHARACTERS = 60
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")


class Refused(Exception):
    """A value breaks a rule. `code` is stable, `message` is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def shown(value: object) -> str:
    """The value as it may be quoted in a message: printable and short."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def clean_text(value: object, *, maximum: int, required: bool = False, lines: bool = False) -> str:
    """Text without NUL, lone surrogates or (unless `lines`) line breaks, trimmed, at most `maximum` long."""
    if not isinstance(value, str):
        raise Refused("type", f"must be text, got {shown(value)}")
    if "\x00" in value:
        raise Refused("nul", "must not contain NUL")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise Refused("encoding", "must be valid Unicode text; it holds bytes that are not UTF-8")
    text = value.strip()
    if len(text) > maximum:
        raise Refused("too_long", f"must be at most {maximum:,} characters, got {len(text):,}")
    if not lines and any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise Refused("control_character", "must not contain line breaks or control characters")
    if required and not text:
        raise Refused("empty", "must not be empty")
    return text


def clean_integer(value: object, *, minimum: int, maximum: int) -> int:
    """A whole number within bounds. True is not 1, "3" and 3.0 are not 3."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused("type", f"must be a whole number, got {shown(value)}")
    if value < minimum:
        raise Refused("too_small", f"must be at least {minimum:,}, got {shown(value)}")
    if value > maximum:
        raise Refused("too_large", f"must be at most {maximum:,}, got {shown(value)}")
    return value


def clean_boolean(value: object) -> bool:
    """True or False, nothing that only looks like it."""
    if not isinstance(value, bool):
        raise Refused("type", f"must be true or false, got {shown(value)}")
    return value


def clean_choice(value: object, *, choices: Iterable[str]) -> str:
    """One of the listed words, exactly."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        raise Refused("choice", f"{shown(value)} is not one of {', '.join(allowed)}")
    return value


def clean_instant(value: object) -> datetime:
    """An aware instant with whole seconds, from a datetime or ISO 8601 text with an offset."""
    form = "use a form like 2026-01-01T12:00:00Z"
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise Refused("instant", f"{shown(value)} is not an ISO 8601 instant; {form}") from None
    if not isinstance(value, datetime):
        raise Refused("type", f"must be an ISO 8601 instant, got {shown(value)}; {form}")
    if value.tzinfo is None:
        raise Refused("naive", f"{value.isoformat()} has no offset; {form}")
    if value.microsecond:
        raise Refused(
            "sub_second", f"{value.isoformat()} has a fraction of a second; slots are whole seconds"
        )
    try:
        instant = value.astimezone(UTC)
    except OverflowError:
        raise Refused("out_of_range", f"{shown(value)} is outside the supported years 1973-2199") from None
    if not 1973 <= instant.year <= 2199:
        raise Refused("out_of_range", f"{value.isoformat()} is outside the supported years 1973-2199")
    return instant


def clean_word(value: object, *, maximum: int) -> str:
    """A short name such as a queue or a label: letters, digits and . _ : / - only."""
    text = clean_text(value, maximum=maximum, required=True)
    if not _WORD.fullmatch(text):
        raise Refused("characters", f"{shown(text)} may hold letters, digits and . _ : / - only")
    return text


def clean_words(value: object, *, maximum_items: int, maximum: int) -> list[str]:
    """A list of distinct short names, in the order given."""
    if not isinstance(value, (list, tuple)):
        raise Refused("type", f"must be a list of names, got {shown(value)}")
    words = list(dict.fromkeys(clean_word(item, maximum=maximum) for item in value))
    if len(words) > maximum_items:
        raise Refused("too_many", f"must be at most {maximum_items} names, got {len(words)}")
    return words
