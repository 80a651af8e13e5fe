"""A cron expression to five sets of values, checked from left to right, the first fault reported.

Five fields, ASCII, at most 255 characters, blanks and tabs between them; or one of the `@` names.
Seconds, years and a time zone are no part of an expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scheduler_app.domain.cron_elements import FIELD_RULES, HOUR, Step, read_field
from scheduler_app.domain.quoting import shown
from scheduler_app.errors import ScheduleError

LONGEST_EXPRESSION = 255
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_ZONE_PREFIX = re.compile(r"(?:CRON_)?TZ=", re.IGNORECASE)
_FOREIGN = re.compile(r"[^A-Za-z0-9*,/?# \t-]")


@dataclass(frozen=True, slots=True)
class CronFields:
    """A parsed expression. Masks have bit v set for value v; `both_days`: a day must match both fields."""

    texts: tuple[str, str, str, str, str]
    minutes: int
    hours: int
    days: int
    last_day: bool
    months: int
    weekdays: int
    last_weekdays: frozenset[int]
    nth_weekdays: frozenset[tuple[int, int]]
    both_days: bool
    steps: tuple[Step, ...]

    @property
    def every_hour(self) -> bool:
        return self.hours == HOUR.full


def parse_fields(expression: object) -> CronFields:
    """The sets an expression names; ScheduleError with code, field and a message for what is not accepted."""
    texts = _split(_checked_text(expression))
    minute, hour, day, month, weekday = (
        read_field(rule, text) for rule, text in zip(FIELD_RULES, texts, strict=True)
    )
    return CronFields(
        texts=(minute.text, hour.text, day.text, month.text, weekday.text),
        minutes=minute.mask,
        hours=hour.mask,
        days=day.mask,
        last_day=day.last_day,
        months=month.mask,
        weekdays=weekday.mask,
        last_weekdays=frozenset(weekday.last_weekdays),
        nth_weekdays=frozenset(weekday.nth_weekdays),
        both_days=any(values.text.startswith(("*", "?")) for values in (day, weekday)),
        steps=(*minute.steps, *hour.steps, *day.steps, *month.steps, *weekday.steps),
    )


def _checked_text(expression: object) -> str:
    if not isinstance(expression, str):
        raise _fault(
            "bad_type", f"the cron expression is {shown(expression)}; write text such as 0 9 * * 1-5"
        )
    if len(expression) > LONGEST_EXPRESSION:
        raise _fault(
            "too_long",
            f"the cron expression has {len(expression)} characters; it takes at most {LONGEST_EXPRESSION}",
        )
    text = expression.strip(" \t")
    if not text:
        raise _fault("empty", "the cron expression is empty; write five fields such as 0 9 * * 1-5")
    if _ZONE_PREFIX.match(text):
        raise _fault("unsupported", f"{shown(text)} sets a time zone; give the job its timezone instead")
    return _alias_meaning(text) if text.startswith("@") else text


def _alias_meaning(text: str) -> str:
    if text.lower() not in ALIASES:
        raise _fault(
            "unknown_alias",
            f"{shown(text)} is not known; accepted are {', '.join(ALIASES)}. "
            "Use an interval job for @every; nothing runs at a reboot",
        )
    return ALIASES[text.lower()]


def _split(text: str) -> list[str]:
    foreign = _FOREIGN.search(text)
    if foreign:
        raise _fault(
            "bad_character",
            f"the cron expression holds {foreign[0]!r} at position {foreign.start() + 1}; "
            "accepted are letters, digits, * , - / ? # and blanks",
        )
    texts = text.split()
    if len(texts) != len(FIELD_RULES):
        raise _fault(
            "field_count",
            f"the cron expression has {len(texts)} field{'' if len(texts) == 1 else 's'}; it takes 5 fields: "
            "minute, hour, day of month, month, day of week. Seconds and years are not part of it; "
            "an interval job serves seconds, a one-time job a single date",
        )
    return texts


def _fault(code: str, message: str) -> ScheduleError:
    return ScheduleError(code, "expression", message)
