"""What the clock on the wall of a zone reads at an instant, and which instant a reading names.

This is the only place that meets a gap (a reading that does not exist) or a fold (a reading that occurs
twice). A zone is a sorted table of segments of constant offset, in whole minutes since 1970-01-01T00:00Z;
it grows on demand and never changes what it said. Since 1973 every zone shifts on whole minutes by whole
minutes, at most 24 hours, and at least six days after the shift before; the tests hold the zone data to
that.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from scheduler_app.domain.zones import load_zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 1_440
FIRST_MINUTE = int((datetime(1973, 1, 1, tzinfo=UTC) - EPOCH).total_seconds()) // 60
LAST_MINUTE = int((datetime(2199, 12, 31, 23, 59, tzinfo=UTC) - EPOCH).total_seconds()) // 60
FIRST_SECOND = FIRST_MINUTE * 60
LAST_SECOND = LAST_MINUTE * 60

_TABLE_START = FIRST_MINUTE - 2 * DAY
TABLE_END = LAST_MINUTE + 2 * DAY
_PROBE = timedelta(days=3)
_MINUTE = timedelta(minutes=1)
_AHEAD = 3 * 366 * DAY


class OffsetTable(NamedTuple):
    """`offsets[i]` minutes hold from `starts[i]` to `starts[i + 1]`; the last one at least to `until`."""

    starts: tuple[int, ...]
    offsets: tuple[int, ...]
    until: int


class Shift(NamedTuple):
    """At UTC minute `at` the offset changes from `before` to `after` minutes."""

    at: int
    before: int
    after: int


class ZoneClock:
    """Readings of one zone, from 1973 to 2199. Safe to share: readers see one whole table or another."""

    __slots__ = ("_growing", "_table", "_zone", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._zone = load_zone(name)
        self._growing = threading.Lock()
        self._table = OffsetTable((_TABLE_START,), (self._offset(_TABLE_START),), _TABLE_START + 1)

    def table(self, minute: int) -> OffsetTable:
        """The segments, reaching past `minute` (or to the end of the supported time)."""
        table = self._table
        return table if minute < table.until else self._grown(minute)

    def reading(self, minute: int) -> int:
        """What the wall reads at UTC minute `minute`, as minutes since 1970-01-01T00:00 of the same wall."""
        starts, offsets, _ = self.table(minute)
        return minute + offsets[bisect_right(starts, minute) - 1]

    def first_instant(self, reading: int) -> tuple[int, bool]:
        """The first UTC minute at which the wall reads `reading`; or the end of a gap over it, and True."""
        starts, offsets, until = self.table(reading + 2 * DAY)
        index = max(bisect_right(starts, reading - 2 * DAY) - 1, 0)
        while True:
            instant = max(reading - offsets[index], starts[index])
            end = starts[index + 1] if index + 1 < len(starts) else until
            if instant < end:
                return instant, instant + offsets[index] != reading
            index += 1

    def place(self, minute: int) -> tuple[int, int]:
        """(n, of): the reading at this UTC minute is its nth occurrence of `of` (1 or 2)."""
        starts, offsets, _ = self.table(minute + 2 * DAY)
        index = bisect_right(starts, minute) - 1
        reading = minute + offsets[index]
        if index and reading < starts[index] + offsets[index - 1]:
            return 2, 2
        if index + 1 < len(starts) and reading >= starts[index + 1] + offsets[index + 1]:
            return 1, 2
        return 1, 1

    def shifts(self, first: int, last: int) -> Iterator[Shift]:
        """The shifts at UTC minutes `first` to `last`, both included, in order."""
        starts, offsets, _ = self.table(min(last, TABLE_END - 1))
        for index in range(max(bisect_right(starts, first - 1), 1), len(starts)):
            if starts[index] > last:
                return
            yield Shift(starts[index], offsets[index - 1], offsets[index])

    def _grown(self, minute: int) -> OffsetTable:
        with self._growing:
            table = self._table
            if minute < table.until or table.until >= TABLE_END:
                return table
            starts, offsets = list(table.starts), list(table.offsets)
            known, end = table.until - 1, min(minute + _AHEAD, TABLE_END)
            while (shift := self._next_shift(known, end - 1)) is not None:
                starts.append(shift)
                offsets.append(self._offset(shift))
                known = shift
            self._table = OffsetTable(tuple(starts), tuple(offsets), end)
            return self._table

    def _next_shift(self, known: int, last: int) -> int | None:
        """The first minute after `known`, up to `last`, at which the offset of `known` no longer holds."""
        at, end = self._labelled(known), self._labelled(last)
        ahead_of_utc, probe = self._zone.fromutc, at
        offset = ahead_of_utc(at) - at
        while probe < end:
            at, probe = probe, min(probe + _PROBE, end)
            if ahead_of_utc(probe) - probe != offset:
                return self._boundary(at, probe, offset)
        return None

    def _boundary(self, low: datetime, high: datetime, offset: timedelta) -> int:
        """The first minute after `low`, up to `high`, without `offset`, which holds at `low` only."""
        span = (high - low) // _MINUTE
        while span > 1:
            middle = low + span // 2 * _MINUTE
            if self._zone.fromutc(middle) - middle == offset:
                low = middle
            else:
                high = middle
            span = (high - low) // _MINUTE
        return (high.replace(tzinfo=UTC) - EPOCH) // _MINUTE

    def _offset(self, minute: int) -> int:
        at = self._labelled(minute)
        return (self._zone.fromutc(at) - at) // _MINUTE

    def _labelled(self, minute: int) -> datetime:
        """A UTC minute as `fromutc` wants it: the UTC reading, labelled with the zone."""
        return (EPOCH + minute * _MINUTE).replace(tzinfo=self._zone)


@lru_cache(maxsize=1024)
def clock_of(name: str) -> ZoneClock:
    """The one shared clock of a zone; ScheduleError with field `timezone` when there is no such zone."""
    return ZoneClock(name)


def local_text(at: datetime, timezone: str) -> str:
    """An instant as the wall of the zone shows it, with the offset: `2026-03-08T03:00:00-04:00`."""
    return at.astimezone(load_zone(timezone)).isoformat(timespec="seconds")


def reading_text(reading: int) -> str:
    """A reading as `2026-03-08 02:30`."""
    return (EPOCH + timedelta(minutes=reading)).strftime("%Y-%m-%d %H:%M")
