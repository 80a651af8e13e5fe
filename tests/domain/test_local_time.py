"""Readings of a wall clock: segments, gaps, folds."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_app.domain.local_time import (
    DAY,
    EPOCH,
    FIRST_MINUTE,
    LAST_MINUTE,
    ZoneClock,
    clock_of,
    local_text,
    reading_text,
)
from scheduler_app.domain.zones import known_zones, load_zone
from scheduler_app.errors import ScheduleError

MINUTE = timedelta(minutes=1)
SHIFTING = ["America/New_York", "Asia/Gaza", "Australia/Lord_Howe", "Pacific/Apia", "America/Recife"]


def minute_of(text: str) -> int:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // MINUTE


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(sorted(known_zones())), st.integers(FIRST_MINUTE, LAST_MINUTE))
def test_readings_equal_those_of_the_zone_data(name: str, minute: int) -> None:
    at = EPOCH + minute * MINUTE
    expected = at.astimezone(load_zone(name)).replace(tzinfo=UTC, fold=0)
    assert EPOCH + clock_of(name).reading(minute) * MINUTE == expected


def test_shifts_of_every_zone_keep_the_distances_the_engine_relies_on() -> None:
    """Whole minutes, at most a day wide, at least six days apart: then only neighbouring segments meet."""
    first, last = FIRST_MINUTE, minute_of("2045-01-01T00:00")
    for name in known_zones():
        shifts = list(clock_of(name).shifts(first, last))
        assert all(abs(shift.after - shift.before) <= DAY for shift in shifts), name
        assert all(b.at - a.at >= 6 * DAY for a, b in pairwise(shifts)), name
        for shift in shifts[:3] + shifts[-3:]:
            at = EPOCH + shift.at * MINUTE
            offsets = [(at + timedelta(seconds=s)).astimezone(load_zone(name)).utcoffset() for s in (-1, 0)]
            assert offsets == [shift.before * MINUTE, shift.after * MINUTE], name


@pytest.mark.parametrize("name", SHIFTING)
def test_no_shift_is_missed_between_two_probes(name: str) -> None:
    zone, first, last = load_zone(name), minute_of("1999-01-01T00:00"), minute_of("2046-01-01T00:00")
    hours = range(first, last, 120)
    offsets = [(EPOCH + minute * MINUTE).astimezone(zone).utcoffset() for minute in hours]
    seen = sum(before != after for before, after in pairwise(offsets))
    assert len(list(clock_of(name).shifts(first, hours[-1]))) == seen


@pytest.mark.parametrize(
    ("name", "reading", "instant", "jumped"),
    [
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T07:00", True),
        ("America/New_York", "2026-03-08T03:00", "2026-03-08T07:00", False),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30", False),
        ("America/New_York", "2026-11-01T02:00", "2026-11-01T07:00", False),
        ("Pacific/Apia", "2011-12-30T09:00", "2011-12-30T10:00", True),
        ("UTC", "1973-01-01T00:00", "1973-01-01T00:00", False),
        ("America/New_York", "2199-12-31T18:59", "2199-12-31T23:59", False),
    ],
)
def test_a_reading_names_its_first_instant_or_the_end_of_the_gap(
    name: str, reading: str, instant: str, jumped: bool
) -> None:
    assert clock_of(name).first_instant(minute_of(reading)) == (minute_of(instant), jumped)


def test_equal_readings_know_their_place() -> None:
    clock = clock_of("America/New_York")
    places = [
        clock.place(minute_of(f"2026-11-01T{time}"))
        for time in ("04:59", "05:00", "05:59", "06:00", "06:59", "07:00")
    ]
    assert places == [(1, 1), (1, 2), (1, 2), (2, 2), (2, 2), (1, 1)]


def test_a_table_that_grows_keeps_what_it_said() -> None:
    clock = ZoneClock("Europe/Paris")
    early = clock.table(minute_of("1990-01-01T00:00"))
    late = clock.table(minute_of("2100-01-01T00:00"))
    assert late.until > early.until
    assert late.starts[: len(early.starts)] == early.starts
    assert late.offsets[: len(early.offsets)] == early.offsets
    assert clock.table(minute_of("1990-01-01T00:00")) is late


def test_threads_that_grow_one_table_agree() -> None:
    clock, alone = ZoneClock("Europe/Paris"), ZoneClock("Europe/Paris")
    ready, answers = threading.Barrier(8), []

    def ask(year: int) -> None:
        ready.wait(timeout=10)
        answers.append(clock.table(minute_of(f"{year}-01-01T00:00")))

    threads = [threading.Thread(target=ask, args=(1980 + 10 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    whole = alone.table(LAST_MINUTE)
    assert len(answers) == 8
    assert all(whole.starts[: len(answer.starts)] == answer.starts for answer in answers)
    assert clock.table(LAST_MINUTE) == whole


def test_a_clock_of_no_zone_is_refused() -> None:
    with pytest.raises(ScheduleError, match="did you mean Europe/Paris"):
        clock_of("europe/paris")


def test_local_text_carries_the_offset_and_tells_the_two_passes_apart() -> None:
    texts = [local_text(datetime(2026, 11, 1, hour, 30, tzinfo=UTC), "America/New_York") for hour in (5, 6)]
    assert texts == ["2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"]
    assert reading_text(minute_of("2026-11-01T01:30")) == "2026-11-01 01:30"
