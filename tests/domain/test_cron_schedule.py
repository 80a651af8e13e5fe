"""Runs of cron expressions in zones: the vectors, the laws, a minute walk over days with clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_app.errors import ScheduleError
from tests.domain.vectors import answers_agree, backwards, cron, forwards, instant, instants, read_vectors
from tests.domain.walked_clock import MINUTE, PlainCron, walked_slots

POLICIES = ("auto", "wall_clock", "cadence")
SECOND = timedelta(seconds=1)
VECTORS = read_vectors("cron-vectors")
CASES = [case for case in read_vectors("schedule-cases") if case["kind"] == "cron" and case["next_utc"]]


@pytest.mark.parametrize("category", sorted({row["category"] for row in VECTORS}))
def test_every_vector_gives_its_runs_forwards_backwards_and_counted(category: str) -> None:
    wrong = [row["id"] for row in VECTORS if row["category"] == category and not vector_holds(row)]
    assert wrong == []


def vector_holds(row: dict[str, Any]) -> bool:
    schedule = cron(row["expression"], row["timezone"], row["policy"])
    slots = forwards(schedule, instant(row["from_utc"]), row["count"])
    return slots == instants(row["next_utc"]) and answers_agree(schedule, slots)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize(("policy", "key"), [("wall_clock", "next_utc"), ("auto", "next_utc_auto")])
def test_every_known_case_gives_its_runs(case: dict[str, Any], policy: str, key: str) -> None:
    schedule = cron(case["expression"], case["timezone"], policy)
    slots = forwards(schedule, instant(case["from_utc"]), len(case[key]))
    assert slots == instants(case[key]), case["why"]
    assert answers_agree(schedule, slots)


# Clock changes: ordinary ones, at midnight, by half an hour, by two hours, over a whole date, by law.
SHIFT_DAYS = [
    ("America/New_York", "2024-03-10"),
    ("America/New_York", "2024-11-03"),
    ("Europe/London", "2025-10-26"),
    ("Europe/Dublin", "2024-03-31"),
    ("Australia/Lord_Howe", "2024-10-06"),
    ("Australia/Lord_Howe", "2024-04-07"),
    ("Antarctica/Troll", "2024-03-31"),
    ("Antarctica/Troll", "2024-10-27"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("Africa/Cairo", "2024-04-26"),
    ("Africa/Cairo", "2024-11-01"),
    ("Asia/Beirut", "2026-03-29"),
    ("America/Havana", "2025-11-02"),
    ("America/St_Johns", "2010-03-14"),
    ("Africa/Casablanca", "2024-03-10"),
    ("Europe/Moscow", "2011-03-27"),
    ("Europe/Moscow", "2014-10-26"),
    ("America/Caracas", "2007-12-09"),
    ("Asia/Pyongyang", "2015-08-15"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Kwajalein", "1993-08-21"),
    ("America/Recife", "2000-10-08"),
    ("America/New_York", "2150-11-01"),
]
HALF_WALK = timedelta(days=4)

some_hours = st.one_of(
    st.just(frozenset(range(24))), st.frozensets(st.integers(0, 23), min_size=1, max_size=5)
)
some_minutes = st.one_of(
    st.just(frozenset(range(0, 60, 10))), st.frozensets(st.integers(0, 59), min_size=1, max_size=4)
)
some_days = st.one_of(st.none(), st.frozensets(st.integers(1, 31), min_size=1, max_size=12))
some_weekdays = st.one_of(st.none(), st.frozensets(st.integers(0, 6), min_size=1, max_size=4))
plain_crons = st.builds(PlainCron, some_minutes, some_hours, some_days, some_weekdays)


@settings(max_examples=400, deadline=None)
@given(plain=plain_crons, place=st.sampled_from(SHIFT_DAYS), policy=st.sampled_from(POLICIES), data=st.data())
def test_a_walk_over_every_minute_of_a_clock_change_finds_the_same_runs(
    plain: PlainCron, place: tuple[str, str], policy: str, data: st.DataObject
) -> None:
    zone, day = place
    start = instant(f"{day}T12:00:00Z") - HALF_WALK
    walked = walked_slots(plain, zone, policy, start, int(2 * HALF_WALK / MINUTE))
    first, last = start + timedelta(days=1, hours=1), start + 2 * HALF_WALK - timedelta(days=1, hours=1)
    inner = [at for at in walked if first <= at <= last]

    schedule = cron(plain.text, zone, policy)
    assert schedule.between(first, last + SECOND, 100_000) == inner
    assert backwards(schedule, last + SECOND, len(inner)) == inner
    assert schedule.count(first, last, 100_000) == len(inner)

    at = first + timedelta(seconds=data.draw(st.integers(0, int((last - first).total_seconds()))))
    later, earlier = [slot for slot in inner if slot > at], [slot for slot in inner if slot < at]
    assert not later or schedule.next(at) == later[0]
    assert not earlier or schedule.previous(at) == earlier[-1]
    assert schedule.count(first, at, 100_000) == len([slot for slot in inner if slot <= at])
    assert schedule.count(at, last, 100_000) == len([slot for slot in inner if slot >= at])


EXPRESSIONS = [
    "*/10 * * * *",
    "30 2 * * *",
    "0 * * * *",
    "*/15 1-3 * * *",
    "0 0 * * *",
    "59 23 31 12 *",
    "0 0 29 2 *",
    "0 9 13 * 5",
    "0 0 */2 * 1",
    "15 4 L * *",
    "0 8 * * MON#1,5L",
    "@hourly",
    "5,35 0-22 * */3 *",
]
ZONES = [
    "UTC",
    "America/New_York",
    "Europe/London",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
]
moments = st.integers(94_694_400, 7_258_118_340).map(lambda second: datetime.fromtimestamp(second, UTC))


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), st.sampled_from(POLICIES), moments)
def test_next_and_previous_are_exact_neighbours(
    expression: str, zone: str, policy: str, at: datetime
) -> None:
    schedule = cron(expression, zone, policy)
    following = schedule.next(at)
    if following is None:
        assert at > instant("2191-01-01T00:00:00Z")
        return
    assert following > at
    assert following.second == following.microsecond == 0
    assert schedule.next(following - SECOND) == following
    assert schedule.count(following, following, 1) == 1
    assert following - at <= SECOND or schedule.count(at + SECOND, following - SECOND, 0) == 0
    after_it = schedule.next(following)
    assert after_it is None or (after_it > following and schedule.previous(after_it) == following)
    before_it = schedule.previous(following)
    assert before_it is None or (before_it <= at and schedule.next(before_it) == following)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), st.sampled_from(POLICIES), moments)
def test_no_instant_comes_twice(expression: str, zone: str, policy: str, at: datetime) -> None:
    slots = forwards(cron(expression, zone, policy), at, 60)
    assert slots == sorted(set(slots))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), moments)
def test_auto_equals_one_of_the_other_two(expression: str, zone: str, at: datetime) -> None:
    auto, wall_clock, cadence = (
        forwards(cron(expression, zone, policy), at, 40) for policy in ("auto", "wall_clock", "cadence")
    )
    every_hour = expression.split()[-1] == "@hourly" or expression.split()[1] == "*"
    assert auto == (cadence if every_hour else wall_clock)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(EXPRESSIONS), st.sampled_from(["UTC", "Etc/GMT+5", "Asia/Tokyo", "Asia/Kolkata"]), moments
)
def test_in_zones_without_clock_changes_all_policies_agree(expression: str, zone: str, at: datetime) -> None:
    answers = {tuple(forwards(cron(expression, zone, policy), at, 20)) for policy in POLICIES}
    assert len(answers) == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 23), st.integers(0, 59), st.sampled_from(ZONES), st.integers(1973, 2198))
def test_a_daily_wall_clock_job_runs_once_a_date(hour: int, minute: int, zone: str, year: int) -> None:
    schedule = cron(f"{minute} {hour} * * *", zone, "wall_clock")
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    assert schedule.count(start, end - SECOND, 400) in (365, 366)
    gaps = [later - at for at, later in pairwise(schedule.between(start, end, 400))]
    skipped_date = zone == "Pacific/Apia" and year == 2011
    assert skipped_date or (timedelta(hours=22) < min(gaps) and max(gaps) < timedelta(hours=26))


UTC_EXPRESSIONS = st.tuples(
    st.sampled_from(["*", "*/7", "0", "3-50/9", "5,15,45", "10/20", "58-59"]),
    st.sampled_from(["*", "*/5", "0", "9-17", "23", "1,13", "4/6"]),
    st.sampled_from(["*", "1", "*/10", "15,L", "31", "L", "29-31", "2/9"]),
    st.sampled_from(["*", "2", "1-6", "JAN,JUL", "*/5"]),
    st.sampled_from(["*", "0", "7", "MON-FRI", "5-7", "*/2", "SAT,SUN", "3/2"]),
).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(UTC_EXPRESSIONS, st.integers(946_684_800, 4_102_444_800))
def test_croniter_finds_the_same_runs_in_utc(expression: str, second: int) -> None:
    start = datetime.fromtimestamp(second, UTC)
    other = croniter(expression, start, ret_type=datetime, implement_cron_bug=True)
    if " 31 2 " in expression and expression.split()[4].startswith("*"):
        with pytest.raises(ScheduleError, match="no date ever matches"):
            cron(expression)
        return
    assert forwards(cron(expression), start, 6) == [other.get_next() for _ in range(6)]


def test_a_leap_day_waits_eight_years_over_2100_and_forty_for_its_weekday() -> None:
    at = instant("2088-02-01T00:00:00Z")
    leap_sundays, leap_days = cron("0 0 29 2 */7"), cron("0 0 29 2 *")
    assert forwards(leap_sundays, at, 2) == instants(["2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"])
    assert leap_days.next(instant("2096-02-29T00:00:00Z")) == instant("2104-02-29T00:00:00Z")


def test_nothing_runs_after_the_last_supported_minute() -> None:
    every_minute = cron("* * * * *", "America/New_York")
    last = instant("2199-12-31T23:59:00Z")
    assert every_minute.next(last - SECOND) == last
    assert every_minute.next(last) is None
    assert every_minute.previous(datetime(9999, 1, 1, tzinfo=UTC)) == last


def test_nothing_runs_before_the_first_supported_minute() -> None:
    first = instant("1973-01-01T00:00:00Z")
    for policy in POLICIES:
        every_minute = cron("* * * * *", "America/New_York", policy)
        assert every_minute.previous(first + timedelta(minutes=1)) == first
        assert every_minute.previous(first) is None


def test_all_minutes_of_two_centuries_are_counted_at_once() -> None:
    first, last = instant("1973-01-01T00:00:00Z"), instant("2199-12-31T23:59:00Z")
    assert cron("* * * * *", "Europe/Paris").count(first, last, 10**9) == (last - first) // MINUTE + 1
