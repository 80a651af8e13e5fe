"""Named types of command-line arguments; each refusal shows the value and an accepted form.

They decide only whether the text has the right form (exit code 2). Which values a job field may have is
decided by the services, so that every door refuses the same.
"""

from __future__ import annotations

import json
import math
import re
from argparse import ArgumentTypeError

from scheduler_app.domain.quoting import shown
from scheduler_app.queries.paging import MAX_PAGE_ITEMS

MAX_DIGITS = 18
MAX_PROCESSES = 1000
_WHOLE = re.compile(rf"[+-]?[0-9]{{1,{MAX_DIGITS}}}")


def whole_number(text: str) -> int:
    """Digits with an optional sign; the range is the field's own business."""
    if not _WHOLE.fullmatch(text):
        raise ArgumentTypeError(f"{shown(text)} is no whole number of at most {MAX_DIGITS} digits, such as 5")
    return int(text)


def positive_int(text: str) -> int:
    """A whole number from 1: ids, counts, slots."""
    number = whole_number(text)
    if number < 1:
        raise ArgumentTypeError(f"{text} is refused; give a whole number from 1")
    return number


def page_size(text: str) -> int:
    """How many rows a listing shows."""
    return _up_to(positive_int(text), MAX_PAGE_ITEMS)


def run_count(text: str) -> int:
    """How many upcoming runs are shown."""
    return _up_to(positive_int(text), MAX_PAGE_ITEMS)


def process_count(text: str) -> int:
    """How many things one process or group runs at the same time, 1 to MAX_PROCESSES."""
    return _up_to(positive_int(text), MAX_PROCESSES)


def positive_seconds(text: str) -> float:
    """A period in seconds above 0, fractions allowed, at most a day."""
    try:
        number = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{shown(text)} is no number of seconds, such as 5 or 0.5") from None
    if not math.isfinite(number) or not 0 < number <= 86_400:
        raise ArgumentTypeError(f"{shown(text)} is refused; give seconds above 0, at most 86400")
    return number


def json_object(text: str) -> dict[str, object]:
    """One JSON object; the refusal tells the position of the fault."""
    try:
        value = json.loads(text, object_pairs_hook=_distinct_keys, parse_constant=_no_constant)
    except json.JSONDecodeError as fault:
        where = f"line {fault.lineno} column {fault.colno} (character {fault.pos})"
        raise ArgumentTypeError(
            f'is not JSON: {fault.msg} at {where}; give an object such as {{"seconds": 5}}'
        ) from None
    except RecursionError:
        raise ArgumentTypeError("is nested too deeply") from None
    except _BadObject as fault:
        raise ArgumentTypeError(f"is not JSON: {fault}") from None
    except ValueError:
        raise ArgumentTypeError("holds a number with too many digits") from None
    if not isinstance(value, dict):
        raise ArgumentTypeError(f'{shown(text)} is not a JSON object; give one such as {{"seconds": 5}}')
    return value


class _BadObject(ValueError):
    """A fault the JSON reader leaves to its caller."""


def _distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _BadObject(f"the key {shown(twice)} stands twice in one object")
    return value


def _no_constant(word: str) -> object:
    raise _BadObject(f"{word} is no JSON number")


def _up_to(number: int, maximum: int) -> int:
    if number > maximum:
        raise ArgumentTypeError(f"{number} is refused; give at most {maximum}")
    return number
