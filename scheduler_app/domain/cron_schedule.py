"""From local minutes to instants: which runs an expression has in a zone whose clock is put forward or back.

`wall_clock`: every named reading runs once, at its first occurrence; one that the clock jumped over runs
at the end of the gap, several of them together. `cadence`: a run at every instant at which the wall reads
a named minute. `auto` is cadence when the hour field allows all 24 hours, else wall_clock. Both walk the
zone's offset segments; seconds are UTC seconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal

from scheduler_app.domain.cron_calendar import CronCalendar
from scheduler_app.domain.local_time import FIRST_MINUTE, LAST_MINUTE, TABLE_END, ZoneClock

Policy = Literal["wall_clock", "cadence"]


class CronRule:
    """One expression in one zone under one policy. Immutable and safe to share."""

    __slots__ = ("asked_policy", "calendar", "clock", "policy")

    def __init__(self, calendar: CronCalendar, clock: ZoneClock, dst_policy: str) -> None:
        self.calendar = calendar
        self.clock = clock
        self.asked_policy = dst_policy
        cadence = calendar.fields.every_hour if dst_policy == "auto" else dst_policy == "cadence"
        self.policy: Policy = "cadence" if cadence else "wall_clock"

    def next_slot(self, after: int) -> int | None:
        """The first run strictly after this second."""
        minute = after // 60 + 1
        if minute > LAST_MINUTE:
            return None
        slot = self._next_reading(minute) if self.policy == "cadence" else self._next_unread(minute)
        return None if slot is None or slot > LAST_MINUTE else slot * 60

    def previous_slot(self, before: int) -> int | None:
        """The last run strictly before this second."""
        minute = min((before - 1) // 60, LAST_MINUTE)
        if minute < FIRST_MINUTE:
            return None
        slot = self._previous(minute)
        return None if slot is None or slot < FIRST_MINUTE else slot * 60

    def count_slots(self, first: int, last: int) -> int:
        """How many runs lie in these seconds, both ends included; by arithmetic, however many there are."""
        low, high = max(-(-first // 60), FIRST_MINUTE), min(last // 60, LAST_MINUTE)
        if low > high:
            return 0
        starts, offsets, _ = self.clock.table(high)
        total = 0
        for index in range(bisect_right(starts, low) - 1, bisect_right(starts, high)):
            start, offset = starts[index], offsets[index]
            end = starts[index + 1] - 1 if index + 1 < len(starts) else high
            unread = start + (offsets[index - 1] if index else offset)
            total += self._count_in(start, offset, unread, max(low, start), min(high, end))
        return total

    def jumped_reading(self, slot: int) -> int | None:
        """The first named reading that the clock jumped over and that runs at this second instead, if any."""
        if self.policy == "cadence" or slot % 60:
            return None
        for shift in self.clock.shifts(slot // 60, slot // 60):
            reading = self.calendar.next_minute(shift.at + shift.before)
            if reading is not None and reading < shift.at + shift.after:
                return reading
        return None

    def _next_reading(self, minute: int) -> int | None:
        """Cadence: the first minute from this one on at which the wall reads a named minute."""
        starts, offsets, until = self.clock.table(minute)
        index = bisect_right(starts, minute) - 1
        reading = self.calendar.next_minute(minute + offsets[index])
        while reading is not None:
            slot = reading - offsets[index]
            if index + 1 == len(starts):
                if slot < until:
                    return slot
                if until >= TABLE_END:
                    return None
                starts, offsets, until = self.clock.table(slot)
            elif slot < starts[index + 1]:
                return slot
            else:
                index += 1
                reading = self.calendar.next_minute(starts[index] + offsets[index])
        return None

    def _next_unread(self, minute: int) -> int | None:
        """Wall clock: the first minute from this one on with a named reading that is new, or jumped over."""
        starts, offsets, until = self.clock.table(minute)
        index = bisect_right(starts, minute) - 1
        unread = starts[index] + offsets[index - 1] if index else minute + offsets[index]
        if minute != starts[index]:
            unread = max(unread, minute + offsets[index])
        reading = self.calendar.next_minute(unread)
        while reading is not None:
            slot = max(reading - offsets[index], starts[index])
            if index + 1 == len(starts):
                if slot < until:
                    return slot
                if until >= TABLE_END:
                    return None
                starts, offsets, until = self.clock.table(slot)
            elif slot < starts[index + 1]:
                return slot
            else:
                index += 1
        return None

    def _previous(self, minute: int) -> int | None:
        starts, offsets, _ = self.clock.table(minute)
        repeats = self.policy == "cadence"
        for index in range(bisect_right(starts, minute) - 1, -1, -1):
            start, offset = starts[index], offsets[index]
            reading = self.calendar.previous_minute(minute + offset)
            unread = start + (offset if repeats or not index else offsets[index - 1])
            if reading is not None and reading >= unread:
                return max(reading - offset, start)
            minute = start - 1
        return None

    def _count_in(self, start: int, offset: int, unread: int, low: int, high: int) -> int:
        """Runs at minutes `low` to `high` of the segment from `start`; those below `unread` are not new."""
        count = self.calendar.count
        if self.policy == "cadence":
            return count(low + offset, high + offset + 1)
        runs = count(max(low + offset, unread), high + offset + 1)
        jumped = low == start and count(unread, start + offset) > 0
        return runs + 1 if jumped and not self.calendar.names(start + offset) else runs
