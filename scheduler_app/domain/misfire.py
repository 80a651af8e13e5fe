"""Which slots of a due job become rows, which become missed rows, and which share one range.

Late means: now − slot > grace. Nobody late: a row each. Somebody late: *coalesce* runs the latest due slot
and records the rest as one range; *catch_up* runs a row each, oldest first, a capped number per tick;
*skip* records the late ones as missed (the newest few as rows, older ones as one range) and runs the rest.
Work is bounded whatever the gap: a schedule is asked for counts and neighbours, never unfolded whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

RANGE_COUNT_LIMIT = 100_000
ON_TIME_SLOTS_PER_TICK = 1_000


class SlotSource(Protocol):
    """What this module needs of a compiled schedule."""

    def next(self, after: datetime) -> datetime | None: ...

    def previous(self, before: datetime) -> datetime | None: ...

    def count(self, first: datetime, last: datetime, limit: int) -> int | None: ...


@dataclass(frozen=True, slots=True)
class MisfireRule:
    """The misfire part of a job, and how many late slots one tick may unfold."""

    policy: str
    grace_seconds: int
    cap: int


@dataclass(frozen=True, slots=True)
class SlotRange:
    """Slots accounted for together; `count` is None above 100,000."""

    first: datetime
    last: datetime
    count: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class DuePlan:
    """What one tick does with a due job. `run` and `miss` are slots, oldest first.

    `next_run_at` is the first slot left for a later tick, None when the schedule is over;
    `watermark` is the last slot accounted for; `misfired` tells that at least one slot was late.
    """

    run: list[datetime]
    miss: list[datetime]
    ranges: list[SlotRange]
    next_run_at: datetime | None
    watermark: datetime
    misfired: bool = False


def plan_due_slots(source: SlotSource, *, first: datetime, now: datetime, rule: MisfireRule) -> DuePlan:
    """Plan the slots from `first` (due, so first <= now) up to now. `first` must be a slot."""
    late_before = now - timedelta(seconds=rule.grace_seconds)
    if first >= late_before:
        run, following = _walk(source, first, now, ON_TIME_SLOTS_PER_TICK)
        return DuePlan(run, [], [], following, run[-1])
    if rule.policy == "catch_up":
        run, following = _walk(source, first, now, rule.cap)
        return DuePlan(run, [], [], following, run[-1], misfired=True)
    if rule.policy == "skip":
        return _skip(source, first, now, late_before, rule.cap)
    return _coalesce(source, first, now)


def _walk(
    source: SlotSource, first: datetime, last: datetime, limit: int
) -> tuple[list[datetime], datetime | None]:
    """Up to `limit` slots from `first` to `last`, and the slot that follows them."""
    slots = [first]
    following = source.next(first)
    while following is not None and following <= last and len(slots) < limit:
        slots.append(following)
        following = source.next(following)
    return slots, following


def _latest_due(source: SlotSource, first: datetime, now: datetime) -> datetime:
    # Slots are whole seconds: with the fraction of now kept, a slot of the coming second would pass for due.
    latest = source.previous(now.replace(microsecond=0) + timedelta(seconds=1))
    return first if latest is None or latest < first else latest


def _range(source: SlotSource, first: datetime, last: datetime, reason: str) -> SlotRange:
    return SlotRange(first, last, source.count(first, last, RANGE_COUNT_LIMIT), reason)


def _coalesce(source: SlotSource, first: datetime, now: datetime) -> DuePlan:
    latest = _latest_due(source, first, now)
    ranges = []
    if latest > first:
        before = source.previous(latest)
        assert before is not None
        ranges.append(_range(source, first, before, "coalesced"))
    return DuePlan([latest], [], ranges, source.next(latest), latest, misfired=True)


def _skip(source: SlotSource, first: datetime, now: datetime, late_before: datetime, cap: int) -> DuePlan:
    newest_late: list[datetime] = []
    slot = source.previous(late_before)
    while slot is not None and slot >= first and len(newest_late) < cap:
        newest_late.append(slot)
        slot = source.previous(slot)
    ranges = [] if slot is None or slot < first else [_range(source, first, slot, "skipped")]
    newest_late.reverse()
    # `previous` is strict, so a slot exactly at the grace boundary is on time and runs.
    following = source.next(newest_late[-1]) if newest_late else first
    run: list[datetime] = []
    if following is not None and following <= now:
        run, following = _walk(source, following, now, ON_TIME_SLOTS_PER_TICK)
    watermark = run[-1] if run else newest_late[-1]
    return DuePlan(run, newest_late, ranges, following, watermark, misfired=True)
