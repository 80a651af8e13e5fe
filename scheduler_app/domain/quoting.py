"""How a refused value is shown in a message: short, on one line, nothing a terminal could obey."""

from __future__ import annotations

LONGEST_SHOWN = 60


def shown(value: object) -> str:
    """The value as Python would write it, cut to 60 characters; strings are cut before they are escaped."""
    if isinstance(value, str) and len(value) > LONGEST_SHOWN:
        return f"{value[:LONGEST_SHOWN]!r}… ({len(value)} characters)"
    if isinstance(value, str | int | float | bool | None):
        text = repr(value)
        return text if len(text) <= LONGEST_SHOWN * 4 else text[:LONGEST_SHOWN] + "…"
    return f"a value of type {type(value).__name__}"
