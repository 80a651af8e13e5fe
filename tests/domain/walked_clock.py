"""A second, slow reading of the rules of clock changes: every minute is looked at, nothing is clever.

It shares no code with the engine: readings come from `datetime`, days and times are matched by membership.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from scheduler_app.domain.zones import load_zone

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class PlainCron:
    """Explicit sets of values; None is a star. Weekdays count from Sunday = 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None = None
    weekdays: frozenset[int] | None = None

    @property
    def text(self) -> str:
        fields = (self.minutes, self.hours, self.days, None, self.weekdays)
        return " ".join("*" if values is None else ",".join(map(str, sorted(values))) for values in fields)

    def names(self, reading: datetime) -> bool:
        if reading.minute not in self.minutes or reading.hour not in self.hours:
            return False
        by_date = None if self.days is None else reading.day in self.days
        by_weekday = None if self.weekdays is None else reading.isoweekday() % 7 in self.weekdays
        given = [matches for matches in (by_date, by_weekday) if matches is not None]
        return any(given) if given else True


@lru_cache(maxsize=64)
def readings(timezone: str, start: datetime, minutes: int) -> tuple[tuple[datetime, datetime], ...]:
    """(instant, what the wall reads) for each of the minutes from `start` on."""
    zone = load_zone(timezone)
    instants = [start + n * MINUTE for n in range(minutes)]
    return tuple((at, at.astimezone(zone).replace(tzinfo=UTC, fold=0)) for at in instants)


def walked_slots(
    cron: PlainCron, timezone: str, policy: str, start: datetime, minutes: int
) -> list[datetime]:
    """The runs in the walked minutes; its first and last day may lack what lies beyond."""
    walk = readings(timezone, start, minutes)
    if policy == "cadence" or (policy == "auto" and cron.hours == frozenset(range(24))):
        return [at for at, reading in walk if cron.names(reading)]
    shown = {reading for _, reading in walk}
    seen: set[datetime] = set()
    slots: list[datetime] = []
    before = walk[0][1] - MINUTE
    for at, reading in walk:
        jumped = before + MINUTE
        runs = reading not in seen and cron.names(reading)
        while jumped < reading:
            runs = runs or (jumped not in shown and cron.names(jumped))
            jumped += MINUTE
        seen.add(reading)
        before = reading
        if runs:
            slots.append(at)
    return slots
