"""A single run: a text to one instant, and the rule that has that one slot.

A time with an offset is that instant. A local time is read in the job's zone: one that does not exist
becomes the first instant after the gap, one that occurs twice its first occurrence. Whole seconds only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from scheduler_app.domain.local_time import EPOCH, FIRST_SECOND, LAST_SECOND, clock_of
from scheduler_app.domain.quoting import shown
from scheduler_app.domain.zones import check_zone
from scheduler_app.errors import ScheduleError

ACCEPTED = "write 2026-01-31T09:00:00Z, 2026-01-31T09:00:00+01:00, or 2026-01-31T09:00:00 for a local time"

_TEXT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]+)?)?"
    r"(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))?"
)
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class OneTimeRule:
    """`at` is the run, in UTC seconds since 1970; `jumped` is the local minute asked for, if in a gap."""

    at: int
    jumped: int | None = None

    def next_slot(self, after: int) -> int | None:
        """The run, when it is strictly after this second."""
        return self.at if self.at > after else None

    def previous_slot(self, before: int) -> int | None:
        """The run, when it is strictly before this second."""
        return self.at if self.at < before else None

    def count_slots(self, first: int, last: int) -> int:
        """1 when the run lies in these seconds, both ends included, else 0."""
        return int(first <= self.at <= last)

    def jumped_reading(self, slot: int) -> int | None:
        """The local minute asked for, when it does not exist."""
        return self.jumped if slot == self.at else None


def one_time_rule(text: object, timezone_name: str) -> OneTimeRule:
    """The rule of a text; ScheduleError, field `run_at` (or `timezone`) if it names no supported second."""
    local, offset = _parts(text)
    if offset is not None:
        rule = OneTimeRule(int((local - EPOCH).total_seconds()) - offset)
    else:
        rule = _local_rule(local, timezone_name)
    if not FIRST_SECOND <= rule.at <= LAST_SECOND:
        raise _refusal(
            "out_of_range", f"{shown(text)} is outside the supported time, 1973-01-01 to 2199-12-31T23:59Z"
        )
    return rule


def parse_run_at(text: str, timezone: str) -> datetime:
    """The one instant (aware, UTC, whole seconds) that a one-time text names; errors as in one_time_rule."""
    check_zone(timezone)
    return EPOCH + timedelta(seconds=one_time_rule(text, timezone).at)


def _local_rule(local: datetime, timezone_name: str) -> OneTimeRule:
    reading, second = divmod(int((local - EPOCH).total_seconds()), 60)
    if not FIRST_SECOND - 86_400 <= reading * 60 <= LAST_SECOND + 86_400:
        return OneTimeRule(reading * 60)
    minute, jumped = clock_of(timezone_name).first_instant(reading)
    return OneTimeRule(minute * 60, reading) if jumped else OneTimeRule(minute * 60 + second)


def _parts(text: object) -> tuple[datetime, int | None]:
    """The reading as written (labelled UTC), and the seconds its offset is ahead of UTC: None without one."""
    if not isinstance(text, str):
        raise _refusal("bad_type", f"the run time is {shown(text)}; {ACCEPTED}")
    match = _TEXT.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise _refusal("syntax", f"the run time {shown(text)} is not readable; {ACCEPTED}")
    fraction, utc, sign, hours, minutes = match.group(7, 8, 9, 10, 11)
    if fraction and fraction.strip(".0"):
        raise _refusal(
            "sub_second", f"the run time {shown(text)} has a fraction of a second; runs are on whole seconds"
        )
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3, 4, 5, 6))
        local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        if offset >= timedelta(days=1):
            raise ValueError("an offset is less than 24 hours")
    except ValueError as error:
        raise _refusal(
            "out_of_range", f"the run time {shown(text)} does not exist ({error}); {ACCEPTED}"
        ) from None
    if not (utc or sign):
        return local, None
    return local, int(offset.total_seconds()) * (-1 if sign == "-" else 1)


def _refusal(code: str, message: str) -> ScheduleError:
    return ScheduleError(code, "run_at", message)
