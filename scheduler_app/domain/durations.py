"""The length of an interval: the texts people write (`30s`, `5m`, `2h`, `1d`, `{"minutes": 5}`) and whole
seconds.

An interval knows no time zone and no calendar: a day is 86,400 seconds, always.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from scheduler_app.domain.quoting import shown
from scheduler_app.errors import ScheduleError

SECONDS_OF_UNIT = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
SECONDS_OF_WORD = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
LONGEST_SECONDS = 36_525 * 86_400
ACCEPTED = "write a whole number with a unit, such as 30s, 5m, 2h or 1d"

_TEXT = re.compile(r"([0-9]{1,12})([smhd])", re.ASCII)


def parse_every(value: object) -> int:
    """Seconds of an interval, 1 second to 100 years. ScheduleError with field `every` for anything else."""
    if isinstance(value, str):
        seconds = _seconds_of_text(value)
    elif isinstance(value, Mapping):
        seconds = _seconds_of_object(value)
    else:
        raise _refusal("bad_type", f"the interval is {shown(value)}; {ACCEPTED}")
    if seconds < 1:
        raise _refusal("out_of_range", f"the interval {_named(value)} must be at least 1 second; {ACCEPTED}")
    if seconds > LONGEST_SECONDS:
        raise _refusal("out_of_range", f"the interval {_named(value)} is longer than 100 years (36525d)")
    return seconds


def format_every(seconds: int) -> str:
    """The shortest text that parse_every reads back as this many seconds: 300 -> `5m`, 90 -> `90s`."""
    for unit, length in SECONDS_OF_UNIT.items():
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _seconds_of_text(text: str) -> int:
    match = _TEXT.fullmatch(text)
    if match is None:
        if re.fullmatch(r"-[0-9]{1,12}[smhd]", text):
            raise _refusal(
                "out_of_range", f"the interval {shown(text)} must be at least 1 second; {ACCEPTED}"
            )
        raise _refusal("syntax", f"the interval {shown(text)} is not readable; {ACCEPTED}")
    return int(match[1]) * SECONDS_OF_UNIT[match[2]]


def _seconds_of_object(parts: Mapping[object, object]) -> int:
    if not parts:
        raise _refusal("syntax", f"the interval is an empty object; {ACCEPTED}")
    total = 0
    for word, amount in parts.items():
        length = SECONDS_OF_WORD.get(word) if isinstance(word, str) else None
        if length is None:
            raise _refusal(
                "unknown_key",
                f"the interval has the unknown key {shown(word)}; the keys are days, hours, minutes, seconds",
            )
        if not isinstance(amount, int) or isinstance(amount, bool):
            raise _refusal("bad_type", f"{word} of the interval is {shown(amount)}; write a whole number")
        if not 0 <= amount <= LONGEST_SECONDS:
            raise _refusal("out_of_range", f"{word} of the interval is {shown(amount)}; write 0 or more")
        total += amount * length
    return total


def _named(value: object) -> str:
    return shown(value) if isinstance(value, str) else "given as an object"


def _refusal(code: str, message: str) -> ScheduleError:
    return ScheduleError(code, "every", message)
