"""Which slots run, which are missed, which share a range; and that the work stays small whatever the gap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from scheduler_app.domain.misfire import (
    ON_TIME_SLOTS_PER_TICK,
    RANGE_COUNT_LIMIT,
    DuePlan,
    MisfireRule,
    plan_due_slots,
)
from scheduler_app.domain.occurrences import Schedule, compile_schedule

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
POLICIES = ("coalesce", "catch_up", "skip")


def minute(number: int, seconds: int = 0) -> datetime:
    return START + timedelta(minutes=number, seconds=seconds)


def minutes(first: int, last: int) -> list[datetime]:
    return [minute(number) for number in range(first, last + 1)]


def each(every: str, ends_at: datetime | None = None) -> Schedule:
    return compile_schedule(
        schedule_type="interval", schedule={"every": every}, timezone="UTC", anchor_at=START, ends_at=ends_at
    )


def plan(
    policy: str,
    now: datetime,
    *,
    first: datetime = START,
    grace: int = 60,
    cap: int = 20,
    ends_at: datetime | None = None,
) -> DuePlan:
    return plan_due_slots(each("1m", ends_at), first=first, now=now, rule=MisfireRule(policy, grace, cap))


@dataclass
class Counted:
    """A schedule that counts how often it is asked."""

    inner: Schedule
    calls: Counter[str] = field(default_factory=Counter)

    def next(self, after: datetime) -> datetime | None:
        self.calls["next"] += 1
        return self.inner.next(after)

    def previous(self, before: datetime) -> datetime | None:
        self.calls["previous"] += 1
        return self.inner.previous(before)

    def count(self, first: datetime, last: datetime, limit: int) -> int | None:
        self.calls["count"] += 1
        return self.inner.count(first, last, limit)


@pytest.mark.parametrize("policy", POLICIES)
def test_slots_within_the_grace_each_run(policy: str) -> None:
    found = plan(policy, minute(2, 30), grace=150)

    assert (found.run, found.miss, found.ranges) == (minutes(0, 2), [], [])
    assert (found.next_run_at, found.watermark, found.misfired) == (minute(3), minute(2), False)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_slot_found_exactly_at_its_grace_is_on_time(policy: str) -> None:
    found = plan(policy, minute(1), grace=60)

    assert (found.run, found.misfired) == (minutes(0, 1), False)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_slot_found_one_second_beyond_its_grace_is_late(policy: str) -> None:
    assert plan(policy, minute(1, 1), grace=60).misfired


@pytest.mark.parametrize("policy", POLICIES)
def test_with_a_grace_of_zero_a_slot_found_in_its_own_second_runs(policy: str) -> None:
    found = plan(policy, START, grace=0)

    assert (found.run, found.misfired, found.next_run_at) == ([START], False, minute(1))


@pytest.mark.parametrize("policy", POLICIES)
def test_no_slot_of_the_future_is_planned_and_none_between_is_lost(policy: str) -> None:
    for late in (0, 0.5, 59, 59.5, 60, 60.5, 61, 119, 119.999_999, 121, 3_001, 599.5, 90_000, 89_999.7):
        now = START + timedelta(seconds=late)
        found = plan(policy, now)
        accounted = len(found.run) + len(found.miss) + sum(entry.count or 0 for entry in found.ranges)
        assert accounted == each("1m").count(START, found.watermark, 10**6)
        assert found.watermark <= now
        assert found.next_run_at == each("1m").next(found.watermark)


def test_coalesce_runs_the_latest_slot_and_records_the_rest_as_one_range() -> None:
    found = plan("coalesce", minute(49, 30))

    assert (found.run, found.miss) == ([minute(49)], [])
    [entry] = found.ranges
    assert (entry.first, entry.last, entry.count, entry.reason) == (START, minute(48), 49, "coalesced")
    assert (found.next_run_at, found.watermark) == (minute(50), minute(49))


def test_coalesce_half_a_second_before_a_slot_still_runs_the_one_before_it() -> None:
    found = plan("coalesce", minute(9, 59) + timedelta(seconds=0.5))

    assert found.run == [minute(9)]
    assert [(entry.first, entry.last, entry.count) for entry in found.ranges] == [(START, minute(8), 9)]


def test_coalesce_of_one_late_slot_runs_it_and_records_nothing() -> None:
    found = plan("coalesce", minute(0, 59), grace=10)

    assert (found.run, found.ranges, found.misfired) == ([START], [], True)


def test_catch_up_takes_fifty_slots_in_ticks_of_twenty() -> None:
    now, first = minute(49, 30), START
    ticks = []
    while first is not None and first <= now:
        found = plan("catch_up", now, first=first)
        ticks.append(found.run)
        assert (found.miss, found.ranges) == ([], [])
        assert found.next_run_at is not None
        first = found.next_run_at

    assert [len(run) for run in ticks] == [20, 20, 10]
    assert [slot for run in ticks for slot in run] == minutes(0, 49)


def test_skip_misses_what_is_late_and_runs_what_is_within_the_grace() -> None:
    found = plan("skip", minute(10, 30), grace=90)

    assert (found.miss, found.run, found.ranges) == (minutes(0, 8), minutes(9, 10), [])
    assert (found.next_run_at, found.watermark) == (minute(11), minute(10))


def test_skip_gives_rows_to_the_newest_late_slots_and_a_range_to_the_older() -> None:
    found = plan("skip", minute(49, 30), grace=0, cap=20)

    assert found.miss == minutes(30, 49)
    [entry] = found.ranges
    assert (entry.first, entry.last, entry.count, entry.reason) == (START, minute(29), 30, "skipped")
    assert (found.run, found.next_run_at, found.watermark) == ([], minute(50), minute(49))


def test_skip_with_a_cap_of_exactly_the_late_slots_needs_no_range() -> None:
    found = plan("skip", minute(20, 30), grace=60, cap=20)

    assert (found.miss, found.run, found.ranges) == (minutes(0, 19), [minute(20)], [])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_schedule_that_is_over_has_no_next_run(policy: str) -> None:
    found = plan(policy, minute(60), ends_at=minute(10))

    assert found.next_run_at is None
    assert found.watermark == minute(10)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_one_time_slot_found_late_is_run_or_missed_once(policy: str) -> None:
    once = compile_schedule(
        schedule_type="one_time", schedule={"run_at": "2026-03-02T12:00:00Z"}, timezone="UTC"
    )
    found = plan_due_slots(once, first=START, now=minute(600), rule=MisfireRule(policy, 60, 20))

    assert found.run + found.miss == [START]
    assert found.miss == ([START] if policy == "skip" else [])
    assert (found.ranges, found.next_run_at, found.watermark) == ([], None, START)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_of_each_second_that_is_three_days_late_is_planned_with_few_questions(policy: str) -> None:
    source = Counted(each("1s"))
    now = START + timedelta(days=3)

    found = plan_due_slots(source, first=START, now=now, rule=MisfireRule(policy, 60, 20))

    assert source.calls.total() <= 200
    assert len(found.run) + len(found.miss) <= 100
    if policy != "catch_up":
        assert found.next_run_at == now + timedelta(seconds=1)


def test_a_range_beyond_the_limit_has_no_count() -> None:
    now = START + timedelta(days=3)

    found = plan_due_slots(each("1s"), first=START, now=now, rule=MisfireRule("coalesce", 60, 20))

    assert (now - START).total_seconds() > RANGE_COUNT_LIMIT
    assert found.ranges[0].count is None
    assert (found.ranges[0].first, found.ranges[0].last) == (START, now - timedelta(seconds=1))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_long_grace_is_worked_off_in_portions(policy: str) -> None:
    source = Counted(each("1s"))
    now = START + timedelta(days=3)

    found = plan_due_slots(source, first=START, now=now, rule=MisfireRule(policy, 10 * 86_400, 20))

    assert len(found.run) == ON_TIME_SLOTS_PER_TICK
    assert found.next_run_at == START + timedelta(seconds=ON_TIME_SLOTS_PER_TICK)
    assert source.calls.total() <= ON_TIME_SLOTS_PER_TICK + 10


def test_skip_with_a_long_grace_is_bounded_too() -> None:
    source = Counted(each("1s"))
    now = START + timedelta(days=3)

    found = plan_due_slots(source, first=START, now=now, rule=MisfireRule("skip", 86_400, 20))

    assert len(found.run) == ON_TIME_SLOTS_PER_TICK
    assert len(found.miss) == 20
    assert source.calls.total() <= ON_TIME_SLOTS_PER_TICK + 50
    assert found.next_run_at == found.watermark + timedelta(seconds=1)
