"""An interval: anchor + k times N seconds, k from 0. No zone, no drift; a late run moves nothing."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_app.domain.local_time import FIRST_SECOND, LAST_SECOND


@dataclass(frozen=True, slots=True)
class IntervalRule:
    """`anchor` is the first run, in UTC seconds since 1970; `every` is the distance, at least 1 second."""

    anchor: int
    every: int

    def next_slot(self, after: int) -> int | None:
        """The first run strictly after this second."""
        slot = self.anchor + max((after - self.anchor) // self.every + 1, 0) * self.every
        return slot if slot <= LAST_SECOND else None

    def previous_slot(self, before: int) -> int | None:
        """The last run strictly before this second."""
        steps = (min(before, LAST_SECOND + 1) - 1 - self.anchor) // self.every
        slot = self.anchor + steps * self.every
        return slot if steps >= 0 and slot >= FIRST_SECOND else None

    def count_slots(self, first: int, last: int) -> int:
        """How many runs lie in these seconds, both ends included."""
        low, high = max(first, self.anchor), min(last, LAST_SECOND)
        if low > high:
            return 0
        return (high - self.anchor) // self.every - (low - 1 - self.anchor) // self.every

    def jumped_reading(self, slot: int) -> int | None:
        """Never: an interval does not look at the wall."""
        return None
