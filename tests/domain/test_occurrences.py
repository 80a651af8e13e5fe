"""The compiled schedule: what it accepts, its window, its cache, its edges."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from scheduler_app.domain.occurrences import compile_schedule
from scheduler_app.errors import ScheduleError
from tests.domain.vectors import cron, forwards, instant, instants, interval, one_time

NOON = instant("2026-05-01T12:00:00Z")
HOUR = timedelta(hours=1)


def refusal(**definition: Any) -> ScheduleError:
    values: dict[str, Any] = {
        "schedule_type": "cron",
        "schedule": {"expression": "0 * * * *"},
        "timezone": "UTC",
    }
    with pytest.raises(ScheduleError) as caught:
        compile_schedule(**(values | definition))
    return caught.value


@pytest.mark.parametrize(
    ("definition", "field", "code", "words"),
    [
        ({"schedule_type": "weekly"}, "schedule_type", "unknown_type", "one_time, interval, cron"),
        ({"schedule_type": ["cron"]}, "schedule_type", "unknown_type", "one_time"),
        ({"schedule": {"evry": "30s"}}, "schedule", "unknown_key", "'evry'"),
        ({"schedule": {"expression": "* * * * *", "every": "5m"}}, "schedule", "unknown_key", "'every'"),
        ({"schedule": {}}, "expression", "missing", "takes expression"),
        ({"schedule": "0 9 * * *"}, "schedule", "bad_type", "expression"),
        ({"schedule": {"expression": 5}}, "expression", "bad_type", "text"),
        ({"schedule_type": "one_time", "schedule": {"run_at": None}}, "run_at", "bad_type", "text"),
        ({"schedule_type": "interval", "schedule": {"every": "5"}}, "every", "syntax", "30s"),
        ({"schedule_type": "interval", "schedule": {"every": "5m"}}, "anchor_at", "missing", "anchor_at"),
        ({"timezone": "Mars/Olympus"}, "timezone", "unknown_zone", "IANA"),
        ({"timezone": None}, "timezone", "bad_type", "None"),
        ({"timezone": ["UTC"]}, "timezone", "bad_type", "list"),
        ({"dst_policy": "literal"}, "dst_policy", "unknown_policy", "auto, wall_clock, cadence"),
        ({"starts_at": NOON.replace(tzinfo=None)}, "starts_at", "no_offset", "offset"),
        ({"ends_at": NOON.replace(microsecond=1)}, "ends_at", "sub_second", "whole seconds"),
        ({"starts_at": instant("1972-12-31T23:59:59Z")}, "starts_at", "out_of_range", "1973"),
        ({"ends_at": instant("2200-01-01T00:00:00Z")}, "ends_at", "out_of_range", "2199"),
        ({"starts_at": NOON, "ends_at": NOON - HOUR}, "ends_at", "bad_window", "before starts_at"),
    ],
)
def test_a_wrong_definition_is_refused(definition: dict[str, Any], field: str, code: str, words: str) -> None:
    error = refusal(**definition)
    assert (error.field, error.code) == (field, code)
    assert words in error.message


def test_one_definition_is_compiled_once() -> None:
    assert cron("0 9 * * 1-5", "Europe/Paris") is cron("0 9 * * 1-5", "Europe/Paris")
    assert interval(300, NOON) is interval(300, NOON)
    assert one_time("2026-05-01T12:00:00Z") is one_time("2026-05-01T12:00:00Z")
    assert cron("0 9 * * 1-5", "Europe/Paris") is not cron("0 9 * * 1-5", "Europe/Paris", "cadence")


def test_a_refusal_is_given_again() -> None:
    assert refusal(timezone="Mars/Olympus").message == refusal(timezone="Mars/Olympus").message


def test_the_window_includes_both_its_ends_and_moves_no_slot() -> None:
    schedule = cron("0 * * * *", starts_at=NOON, ends_at=NOON + 2 * HOUR)
    slots = [NOON, NOON + HOUR, NOON + 2 * HOUR]
    assert forwards(schedule, instant("2020-01-01T00:00:00Z"), 9) == slots
    assert schedule.next(NOON - timedelta(seconds=1)) == NOON
    assert schedule.next(NOON + 2 * HOUR) is None
    assert schedule.previous(instant("2030-01-01T00:00:00Z")) == NOON + 2 * HOUR
    assert schedule.previous(NOON) is None
    assert schedule.count(NOON - 9 * HOUR, NOON + 9 * HOUR, 100) == 3
    assert schedule.between(NOON - 9 * HOUR, NOON + 9 * HOUR, 100) == slots
    late = interval(3_600, NOON + timedelta(seconds=7), starts_at=NOON + HOUR)
    assert late.next(NOON) == NOON + HOUR + timedelta(seconds=7)


def test_fractions_of_a_second_are_compared_exactly() -> None:
    schedule, bit = cron("0 * * * *"), timedelta(microseconds=1)
    assert schedule.next(NOON - bit) == NOON
    assert schedule.next(NOON + bit) == NOON + HOUR
    assert schedule.previous(NOON + bit) == NOON
    assert schedule.previous(NOON - bit) == NOON - HOUR
    assert schedule.count(NOON + bit, NOON + HOUR - bit, 9) == 0
    assert schedule.count(NOON - bit, NOON + bit, 9) == 1
    assert schedule.between(NOON + bit, NOON + HOUR + bit, 9) == [NOON + HOUR]


def test_between_takes_its_start_and_leaves_out_its_end() -> None:
    schedule = cron("0 * * * *")
    assert schedule.between(NOON, NOON + 2 * HOUR, 9) == [NOON, NOON + HOUR]
    assert schedule.between(NOON, NOON + 9 * HOUR, 2) == [NOON, NOON + HOUR]
    assert schedule.between(NOON, NOON, 9) == []
    assert schedule.between(NOON, NOON - HOUR, 9) == []


def test_count_says_none_only_above_its_limit() -> None:
    schedule = cron("0 * * * *")
    assert schedule.count(NOON, NOON + 3 * HOUR, 4) == 4
    assert schedule.count(NOON, NOON + 3 * HOUR, 3) is None
    assert schedule.count(NOON, NOON - HOUR, 0) == 0


def test_instants_in_other_offsets_are_the_same_instants() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=45)))
    answer = cron("0 * * * *").next(elsewhere)
    assert answer == NOON + HOUR
    assert answer is not None
    assert answer.tzinfo is UTC


@pytest.mark.parametrize(
    "schedule", [cron("0 * * * *"), interval(60, NOON), one_time("2026-05-01T12:00:00Z")]
)
def test_a_start_before_1973_is_refused_and_one_after_2199_finds_nothing(schedule: Any) -> None:
    early, late = datetime(1972, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
    for ask in (schedule.next, schedule.previous):
        with pytest.raises(ScheduleError, match="1973"):
            ask(early)
    assert schedule.next(late) is None
    assert schedule.count(late, late + HOUR, 5) == 0
    assert schedule.between(late, late + HOUR, 5) == []


def test_an_instant_without_an_offset_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError):
        cron("0 * * * *").next(NOON.replace(tzinfo=None))


def test_threads_that_share_a_schedule_get_the_same_slots() -> None:
    schedule = cron("30 2 * * *", "America/Winnipeg")
    answers: list[list[datetime]] = []
    ready = threading.Barrier(6)

    def ask() -> None:
        ready.wait(timeout=10)
        answers.append(forwards(schedule, instant("2150-01-01T00:00:00Z"), 400))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(answers) == 6
    assert all(answer == answers[0] for answer in answers)


def test_the_examples_of_the_documents_hold() -> None:
    gap = cron("30 2 * * *", "America/New_York")
    assert forwards(gap, instant("2026-03-07T12:00:00Z"), 2) == instants(
        ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]
    )
    overlap = cron("30 1 * * *", "America/New_York")
    assert forwards(overlap, instant("2026-10-31T12:00:00Z"), 2) == instants(
        ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]
    )
