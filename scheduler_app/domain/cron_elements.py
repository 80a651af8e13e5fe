"""One cron field to its values: what each of the five accepts, and what is refused in which words.

The grammar, the bounds and `L`, `#`, `dL`, `?` are decided here. What is left of an element after that, a
plain list, range or step within its bounds, is expanded by croniter, one field at a time; croniter never
sees text that was not checked and never computes a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from croniter import croniter

from scheduler_app.domain.quoting import shown
from scheduler_app.errors import ScheduleError

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True, slots=True, eq=False)
class FieldRule:
    """What one field accepts. `step_end` is where `*` and `a/s` end; only weekdays accept one above it."""

    name: str
    low: int
    high: int
    step_end: int
    largest_step: int
    unit: str
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")

    @property
    def full(self) -> int:
        """The mask of every value."""
        return (1 << self.step_end + 1) - (1 << self.low)


MINUTE = FieldRule("minute", 0, 59, 59, 59, "hour")
HOUR = FieldRule("hour", 0, 23, 23, 23, "day")
DAY_OF_MONTH = FieldRule("day_of_month", 1, 31, 31, 31, "month")
MONTH = FieldRule("month", 1, 12, 12, 12, "year", {name: i for i, name in enumerate(MONTH_NAMES, 1)})
DAY_OF_WEEK = FieldRule("day_of_week", 0, 7, 6, 7, "week", {name: i for i, name in enumerate(WEEKDAY_NAMES)})
FIELD_RULES = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that runs to the end of its field, such as `*/7` or `3/7`, and the values it meets."""

    field: str
    text: str
    values: tuple[int, ...]


@dataclass(slots=True)
class FieldValues:
    """One field while it is read. Weekdays are 0 (Sunday) to 6."""

    rule: FieldRule
    text: str
    plain: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    last_day: bool = False
    last_weekdays: set[int] = field(default_factory=set)
    nth_weekdays: set[tuple[int, int]] = field(default_factory=set)

    @property
    def mask(self) -> int:
        """Bit v is set for each plain value v."""
        if "*" in self.plain:
            return self.rule.full
        return expand_plain(self.rule, ",".join(dict.fromkeys(self.plain))) if self.plain else 0


@lru_cache(maxsize=4096)
def expand_plain(rule: FieldRule, text: str) -> int:
    """The values of a checked list of `n`, `a-b`, `a-b/s` (a < b) or `*/s`, as a mask; Sunday is 0."""
    texts = [text if other is rule else "*" for other in FIELD_RULES]
    values = croniter.expand(" ".join(texts))[0][FIELD_RULES.index(rule)]
    return rule.full if values == ["*"] else sum(1 << int(value) for value in set(values))


_NUMBER = re.compile(r"0?[0-9]|[1-9][0-9]+")
_RANGE = re.compile(r"(\*|[0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?(?:/([0-9]+))?")
_NTH = re.compile(r"([0-9A-Za-z]+)#([0-9]+)")
_LAST_WEEKDAY = re.compile(r"([0-9]+|[A-Za-z]{3})[Ll]")
_LAST_OR_NEAREST = re.compile(r"L(?:W|-[0-9]+)?|[0-9]*W", re.IGNORECASE)


def read_field(rule: FieldRule, text: str) -> FieldValues:
    """The values that the text of one field names; ScheduleError for the first one that is not accepted."""
    values = FieldValues(rule, text)
    if text == "?" and rule in (DAY_OF_MONTH, DAY_OF_WEEK):
        values.plain.append("*")
        return values
    for element in text.split(","):
        if not element:
            raise _fault(rule, "syntax", text, "a list has a value between its commas and at both ends")
        if not _read_day_form(values, element):
            _read_range(values, element)
    return values


def _read_day_form(values: FieldValues, element: str) -> bool:
    """Take `L`, `d#n` and `dL`; refuse their relatives that other schedulers know. False: a plain element."""
    rule = values.rule
    if rule is DAY_OF_MONTH and _LAST_OR_NEAREST.fullmatch(element):
        if element.upper() != "L":
            raise _fault(rule, "unsupported", element, "write L for the last day of the month, or a day 1-31")
        values.last_day = True
        return True
    if rule is not DAY_OF_WEEK:
        return False
    if re.fullmatch(r"L[0-9]*", element, re.IGNORECASE):
        raise _fault(rule, "unsupported", element, "write 5L for the last Friday, or L in the day of month")
    last = _LAST_WEEKDAY.fullmatch(element)
    if last and (last[1].isdigit() or last[1].upper() in rule.names):
        values.last_weekdays.add(_value(rule, last[1], element) % 7)
        return True
    if "#" not in element:
        return False
    values.nth_weekdays.add(_nth_weekday(rule, element))
    return True


def _nth_weekday(rule: FieldRule, element: str) -> tuple[int, int]:
    nth = _NTH.fullmatch(element)
    if nth is None or not _NUMBER.fullmatch(nth[2]):
        raise _fault(rule, "syntax", element, "write weekday#n, such as MON#1 for the first Monday")
    weekday, n = _value(rule, nth[1], element) % 7, int(nth[2])
    if not 1 <= n <= 5:
        raise _fault(
            rule, "out_of_range", element, f"a weekday has its 1st to 5th in a month, not number {n}"
        )
    return weekday, n


def _read_range(values: FieldValues, element: str) -> None:
    """Take `*`, `n`, `a-b` and each with a step; what is kept is canonical text for expand_plain."""
    rule = values.rule
    match = _RANGE.fullmatch(element)
    if match is None or (match[1] == "*" and match[2]):
        raise _fault(rule, "syntax", element, _forms(rule))
    first, last, step_text = match.groups()
    low = rule.low if first == "*" else _value(rule, first, element)
    high = low if last is None else _upper(rule, low, first, last, element)
    if step_text is None:
        values.plain.append("*" if first == "*" else str(low) if low == high else f"{low}-{high}")
        return
    step = _step(rule, step_text, element)
    if last is None:
        high = rule.step_end
        if low > high:
            raise _fault(rule, "bad_range", element, _range_hint(rule, low, high))
    if last is None or (low, high) == (rule.low, rule.step_end):
        values.steps.append(Step(rule.name, element, tuple(range(low, high + 1, step))))
    values.plain.append(f"*/{step}" if first == "*" else str(low) if low == high else f"{low}-{high}/{step}")


def _value(rule: FieldRule, token: str, element: str) -> int:
    """The number that a token stands for, within the bounds of its field."""
    if token.isdigit():
        if not _NUMBER.fullmatch(token):
            raise _fault(rule, "syntax", element, "write numbers without leading zeros")
        number = int(token)
        if not rule.low <= number <= rule.high:
            raise _fault(rule, "out_of_range", element, f"values of this field are {rule.low} to {rule.high}")
        return number
    if not token.isalpha():
        raise _fault(rule, "syntax", element, _forms(rule))
    if token.upper() in rule.names:
        return rule.names[token.upper()]
    if token.upper() in ("H", "R"):
        raise _fault(
            rule, "unsupported", element, "write the value; a hashed or random one is not repeatable"
        )
    raise _fault(rule, "unknown_name", element, _names(rule))


def _upper(rule: FieldRule, low: int, first: str, last: str, element: str) -> int:
    """The end of a range; Sunday by name as the upper end is 7, unless the range is that one day."""
    high = _value(rule, last, element)
    if rule is DAY_OF_WEEK and last.upper() == "SUN" and first.upper() != "SUN":
        high = 7
    if low > high:
        raise _fault(rule, "bad_range", element, _range_hint(rule, low, high))
    return high


def _step(rule: FieldRule, text: str, element: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise _fault(rule, "syntax", element, "write the step without leading zeros")
    step = int(text)
    if not 1 <= step <= rule.largest_step:
        raise _fault(
            rule,
            "bad_step",
            element,
            f"a step of this field is 1 to {rule.largest_step} and restarts every {rule.unit}; "
            "use an interval job for a longer rhythm",
        )
    return step


def _forms(rule: FieldRule) -> str:
    forms = f"write *, n, a-b, a-b/s, */s or a list of these, with values {rule.low}-{rule.high}"
    if rule is DAY_OF_MONTH:
        return f"{forms}, L for the last day, or ? alone"
    if rule is DAY_OF_WEEK:
        return f"{forms}, MON#1, 5L, or ? alone"
    return forms


def _names(rule: FieldRule) -> str:
    if not rule.names:
        return f"this field takes numbers {rule.low}-{rule.high}, no names"
    names = list(rule.names)
    return f"the names are {names[0]} to {names[-1]}, three letters each"


def _range_hint(rule: FieldRule, low: int, high: int) -> str:
    if low > rule.step_end:
        return f"Sunday as a start is 0; a range runs upwards and ends at {rule.step_end}"
    start = f"{low}" if low == rule.step_end else f"{low}-{rule.step_end}"
    end = f"{high}" if high == rule.low else f"{rule.low}-{high}"
    return f"a range runs upwards; write {start},{end}"


def _fault(rule: FieldRule, code: str, element: str, way_out: str) -> ScheduleError:
    return ScheduleError(code, rule.name, f"{rule.label}: {shown(element)} is not accepted; {way_out}")
