"""Which local minutes an expression names, with no zone in sight: the endless calendar of one wall clock.

The days of a year depend on its shape alone (which weekday it starts on, leap or not), so an expression
keeps at most 14 bit sets of days and one of the minutes of a day. Local minutes count from
1970-01-01T00:00 of that wall.
"""

from __future__ import annotations

from bisect import bisect_right
from calendar import isleap, monthrange
from datetime import date
from functools import lru_cache

from scheduler_app.domain.cron_fields import CronFields, parse_fields
from scheduler_app.errors import ScheduleError

DAY = 1_440
FIRST_YEAR, LAST_YEAR = 1972, 2200

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_YEARS = range(FIRST_YEAR, LAST_YEAR + 1)
_NEW_YEARS = [date(year, 1, 1).toordinal() - _EPOCH_DAY for year in _YEARS]
_SHAPES = [date(year, 1, 1).isoweekday() % 7 + 7 * isleap(year) for year in _YEARS]
_SHAPE_YEARS = dict(zip(_SHAPES, _YEARS, strict=True))
_SEVENTHS = sum(1 << day for day in range(0, 35, 7))


class CronCalendar:
    """The local minutes that one expression names. Immutable to its users; safe to share."""

    __slots__ = ("_day_minutes", "_days_of_shape", "_first_time", "_last_time", "fields")

    def __init__(self, fields: CronFields) -> None:
        self.fields = fields
        self._day_minutes = _minutes_of_day(fields.hours, fields.minutes)
        self._first_time = _lowest(self._day_minutes)
        self._last_time = self._day_minutes.bit_length() - 1
        self._days_of_shape: list[int | None] = [None] * 14

    def next_minute(self, minute: int) -> int | None:
        """The first named local minute at or after this one, which is 1972 or later; None past 2200."""
        day, time = divmod(minute, DAY)
        year = bisect_right(_NEW_YEARS, day) - 1
        days = self._days(year) >> (day - _NEW_YEARS[year])
        if days & 1:
            times = self._day_minutes >> time
            if times:
                return minute + _lowest(times)
            days -= 1
        while not days:
            year += 1
            if year == len(_SHAPES):
                return None
            day = _NEW_YEARS[year]
            days = self._days(year)
        return (day + _lowest(days)) * DAY + self._first_time

    def previous_minute(self, minute: int) -> int | None:
        """The last named local minute at or before this one; None before the year 1972."""
        day, time = divmod(minute, DAY)
        year = bisect_right(_NEW_YEARS, day) - 1
        new_year = _NEW_YEARS[year]
        today = 1 << (day - new_year)
        days = self._days(year)
        if days & today:
            times = self._day_minutes & ((2 << time) - 1)
            if times:
                return day * DAY + times.bit_length() - 1
        days &= today - 1
        while not days:
            year -= 1
            if year < 0:
                return None
            days = self._days(year)
        return (_NEW_YEARS[year] + days.bit_length() - 1) * DAY + self._last_time

    def count(self, first: int, end: int) -> int:
        """How many local minutes are named from `first` up to, not including, `end`."""
        if first >= end:
            return 0
        year = bisect_right(_NEW_YEARS, first // DAY) - 1
        return self._count_since(year, end) - self._count_since(year, first)

    def names(self, minute: int) -> bool:
        """Whether this local minute is one of them."""
        return self.next_minute(minute) == minute

    def has_a_day(self) -> bool:
        """Whether any date of any year ever matches: 14 shapes of a year are all there are."""
        return any(self._days_in(shape) for shape in range(14))

    def _count_since(self, first_year: int, minute: int) -> int:
        """How many local minutes are named from the start of a year up to, not including, `minute`."""
        day, time = divmod(minute, DAY)
        year = bisect_right(_NEW_YEARS, day) - 1
        days, today = self._days(year), 1 << (day - _NEW_YEARS[year])
        whole = (days & (today - 1)).bit_count()
        for past in range(first_year, year):
            whole += self._days(past).bit_count()
        part = (self._day_minutes & ((1 << time) - 1)).bit_count() if days & today else 0
        return whole * self._day_minutes.bit_count() + part

    def _days(self, year: int) -> int:
        shape = _SHAPES[year]
        days = self._days_of_shape[shape]
        return self._days_in(shape) if days is None else days

    def _days_in(self, shape: int) -> int:
        days = _days_of_year(self.fields, _SHAPE_YEARS[shape])
        self._days_of_shape[shape] = days
        return days


@lru_cache(maxsize=8192)
def calendar_of(expression: str) -> CronCalendar:
    """The calendar of a cron text, one for each distinct text; ScheduleError when it is refused."""
    calendar = CronCalendar(parse_fields(expression))
    if not calendar.has_a_day():
        texts = calendar.fields.texts
        raise ScheduleError(
            "impossible",
            "day_of_month",
            f"day of month {texts[2]}, month {texts[3]}, day of week {texts[4]}: no occurrence found, "
            "no date ever matches; write a day that the month has",
        )
    return calendar


def _minutes_of_day(hours: int, minutes: int) -> int:
    return sum(minutes << (60 * hour) for hour in range(24) if hours >> hour & 1)


def _days_of_year(fields: CronFields, year: int) -> int:
    """Bit n is set when the day n days after 1 January matches."""
    days = start = 0
    for month in range(1, 13):
        first_weekday, length = monthrange(year, month)
        if fields.months >> month & 1:
            days |= _days_of_month(fields, (first_weekday + 1) % 7, length) << start
        start += length
    return days


def _days_of_month(fields: CronFields, first_weekday: int, length: int) -> int:
    """Bit n is set when day n + 1 matches; weekdays count from Sunday = 0."""
    whole = (1 << length) - 1
    by_date = fields.days >> 1 & whole
    if fields.last_day:
        by_date |= 1 << (length - 1)
    by_weekday = 0
    for weekday in range(7):
        first = (weekday - first_weekday) % 7
        if fields.weekdays >> weekday & 1:
            by_weekday |= _SEVENTHS << first & whole
        if weekday in fields.last_weekdays:
            by_weekday |= 1 << (first + (length - 1 - first) // 7 * 7)
    for weekday, n in fields.nth_weekdays:
        by_weekday |= 1 << ((weekday - first_weekday) % 7 + 7 * (n - 1)) & whole
    return by_date & by_weekday if fields.both_days else by_date | by_weekday


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
