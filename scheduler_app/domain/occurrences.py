"""A job's schedule as one compiled value that answers: next, previous, how many, which ones.

Everybody who needs a slot asks this and nothing else: scheduler, preview, form and command line see the
same instants. Inside, instants are whole UTC seconds; datetimes exist at this edge only. Supported
instants are 1973-01-01T00:00:00Z to 2199-12-31T23:59:00Z; past the end there is no further run, before
the start is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from scheduler_app.domain.clock_notes import note_at
from scheduler_app.domain.cron_calendar import calendar_of
from scheduler_app.domain.cron_schedule import CronRule
from scheduler_app.domain.durations import parse_every
from scheduler_app.domain.interval_schedule import IntervalRule
from scheduler_app.domain.local_time import EPOCH, FIRST_SECOND, LAST_SECOND, ZoneClock, clock_of
from scheduler_app.domain.one_time_schedule import OneTimeRule, one_time_rule, parse_run_at
from scheduler_app.domain.quoting import shown
from scheduler_app.domain.schedule_text import describe_rule
from scheduler_app.domain.zones import check_zone
from scheduler_app.errors import ScheduleError

__all__ = ["Schedule", "clock_note", "compile_schedule", "parse_run_at"]

KEY_OF_TYPE = {"one_time": "run_at", "interval": "every", "cron": "expression"}
DST_POLICIES = ("auto", "wall_clock", "cadence")

Rule = CronRule | IntervalRule | OneTimeRule


class Schedule:
    """The slots of one definition within its window (`starts_at` to `ends_at`, both included). Immutable."""

    __slots__ = ("_first", "_last", "_next_slot", "clock", "rule", "window")

    def __init__(
        self, rule: Rule, clock: ZoneClock, starts_at: datetime | None, ends_at: datetime | None
    ) -> None:
        self.rule = rule
        self.clock = clock
        self.window = (starts_at, ends_at)
        self._next_slot = rule.next_slot
        self._first = FIRST_SECOND if starts_at is None else _whole_second(starts_at, "starts_at")
        self._last = LAST_SECOND if ends_at is None else _whole_second(ends_at, "ends_at")

    @property
    def timezone(self) -> str:
        return self.clock.name

    def next(self, after: datetime) -> datetime | None:
        """The first slot strictly after `after`; None when there is no further run."""
        slot = self._next_slot(max(_floor(after), self._first - 1))
        return None if slot is None or slot > self._last else EPOCH + timedelta(seconds=slot)

    def previous(self, before: datetime) -> datetime | None:
        """The last slot strictly before `before`; None when there was none."""
        slot = self.rule.previous_slot(min(_ceiling(before), self._last + 1))
        return None if slot is None or slot < self._first else EPOCH + timedelta(seconds=slot)

    def count(self, first: datetime, last: datetime, limit: int) -> int | None:
        """How many slots lie in [first, last]; None when there are more than `limit`."""
        low, high = max(_ceiling(first), self._first), min(_floor(last), self._last)
        slots = self.rule.count_slots(low, high) if low <= high else 0
        return slots if slots <= limit else None

    def between(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        """The slots in [start, end), oldest first, at most `limit` of them."""
        slots: list[datetime] = []
        after, last = max(_ceiling(start), self._first) - 1, min(_ceiling(end) - 1, self._last)
        while len(slots) < limit:
            slot = self._next_slot(after)
            if slot is None or slot > last:
                break
            slots.append(EPOCH + timedelta(seconds=slot))
            after = slot
        return slots

    def describe(self) -> str:
        """One English sentence without a full stop: when it runs, in which zone, in which window."""
        return describe_rule(self.rule, self.clock, *self.window)


def compile_schedule(
    *,
    schedule_type: str,
    schedule: Mapping[str, object],
    timezone: str,
    dst_policy: str = "auto",
    anchor_at: datetime | None = None,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> Schedule:
    """The compiled form of a definition, one object for each distinct definition.

    `schedule` is `{"expression": …}`, `{"every": …}` or `{"run_at": …}`. An interval needs `anchor_at`.
    Raises ScheduleError: the first fault, its field named as in the doors.
    """
    value = _value_of(schedule_type, schedule)
    if not isinstance(timezone, str):
        check_zone(timezone)
    if dst_policy not in DST_POLICIES:
        raise ScheduleError(
            "unknown_policy",
            "dst_policy",
            f"{shown(dst_policy)} is not a policy; write {', '.join(DST_POLICIES)}",
        )
    if schedule_type == "cron" and isinstance(value, str):
        return _compiled_cron(value, timezone, dst_policy, starts_at, ends_at)
    if schedule_type == "interval":
        return _compiled_interval(parse_every(value), timezone, anchor_at, starts_at, ends_at)
    if schedule_type == "one_time" and isinstance(value, str):
        return _compiled_one_time(value, timezone, starts_at, ends_at)
    key = KEY_OF_TYPE[schedule_type]
    raise ScheduleError("bad_type", key, f"{key} is {shown(value)}; it must be text")


def clock_note(schedule: Schedule, at: datetime) -> str:
    """What the wall does at a slot: ``""``, `after gap (02:30 does not exist)`, `1st of 2` or `2nd of 2`."""
    second = _floor(at)
    return note_at(schedule.clock, second, schedule.rule.jumped_reading(second))


def _value_of(schedule_type: str, schedule: Mapping[str, object]) -> object:
    key = KEY_OF_TYPE.get(schedule_type) if isinstance(schedule_type, str) else None
    if key is None:
        raise ScheduleError(
            "unknown_type",
            "schedule_type",
            f"{shown(schedule_type)} is not a type; write {', '.join(KEY_OF_TYPE)}",
        )
    if not isinstance(schedule, Mapping):
        raise ScheduleError(
            "bad_type", "schedule", f'the schedule is {shown(schedule)}; write {{"{key}": …}}'
        )
    for other in schedule:
        if other != key:
            raise ScheduleError(
                "unknown_key", "schedule", f"unknown key {shown(other)}; {schedule_type} takes {key} alone"
            )
    if key not in schedule:
        raise ScheduleError("missing", key, f"{key} is missing; {schedule_type} takes {key}")
    return schedule[key]


@lru_cache(maxsize=8192)
def _compiled_cron(
    expression: str, timezone: str, dst_policy: str, starts_at: datetime | None, ends_at: datetime | None
) -> Schedule:
    calendar = calendar_of(expression)
    clock = clock_of(timezone)
    return _windowed(CronRule(calendar, clock, dst_policy), clock, starts_at, ends_at)


@lru_cache(maxsize=8192)
def _compiled_interval(
    every: int,
    timezone: str,
    anchor_at: datetime | None,
    starts_at: datetime | None,
    ends_at: datetime | None,
) -> Schedule:
    if anchor_at is None:
        raise ScheduleError("missing", "anchor_at", "an interval counts from anchor_at; give it an instant")
    return _windowed(
        IntervalRule(_whole_second(anchor_at, "anchor_at"), every), clock_of(timezone), starts_at, ends_at
    )


@lru_cache(maxsize=8192)
def _compiled_one_time(
    text: str, timezone: str, starts_at: datetime | None, ends_at: datetime | None
) -> Schedule:
    clock = clock_of(timezone)
    return _windowed(one_time_rule(text, timezone), clock, starts_at, ends_at)


def _windowed(rule: Rule, clock: ZoneClock, starts_at: datetime | None, ends_at: datetime | None) -> Schedule:
    schedule = Schedule(rule, clock, starts_at, ends_at)
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        raise ScheduleError(
            "bad_window", "ends_at", "ends_at is before starts_at; the window would hold no run"
        )
    return schedule


def _whole_second(at: datetime, field: str) -> int:
    if at.tzinfo is None:
        raise ScheduleError("no_offset", field, f"{field} has no offset; write it with Z or an offset")
    if at.microsecond:
        raise ScheduleError(
            "sub_second", field, f"{field} has a fraction of a second; runs are on whole seconds"
        )
    second = int((at - EPOCH).total_seconds())
    if not FIRST_SECOND <= second <= LAST_SECOND:
        raise ScheduleError(
            "out_of_range",
            field,
            f"{field} {at.isoformat()} is outside the supported time, 1973 to 2199-12-31T23:59Z",
        )
    return second


def _floor(at: datetime) -> int:
    """The whole second at or before an instant; ScheduleError (field `from`) before 1973."""
    since = at - EPOCH
    second = since.days * 86_400 + since.seconds
    if second < FIRST_SECOND:
        raise ScheduleError(
            "out_of_range",
            "from",
            f"{at.astimezone(UTC).isoformat()} is before 1973-01-01T00:00:00Z, the first instant",
        )
    return second


def _ceiling(at: datetime) -> int:
    second = _floor(at)
    return second + 1 if at.microsecond else second
