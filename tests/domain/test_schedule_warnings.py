"""Advice on schedules, and what the next clock changes do to them."""

from __future__ import annotations

import pytest

from scheduler_app.domain.schedule_warnings import next_shifts, schedule_warnings
from tests.domain.vectors import cron, instant, interval

AT = instant("2026-05-01T12:00:00Z")
NEW_YORK = "America/New_York"


def codes(expression: str, zone: str = "UTC", policy: str = "auto") -> list[str]:
    return [warning.code for warning in schedule_warnings(cron(expression, zone, policy), at=AT)]


@pytest.mark.parametrize(
    ("expression", "zone", "policy", "expected"),
    [
        ("0 9 * * 1-5", NEW_YORK, "auto", []),
        ("*/10 * * * *", NEW_YORK, "auto", []),
        ("*/10 1-5 * * *", NEW_YORK, "auto", ["overlap_pause"]),
        ("*/10 1-5 * * *", NEW_YORK, "cadence", []),
        ("*/10 1-5 * * *", "Asia/Tokyo", "auto", []),
        ("*/10 3-5 * * *", NEW_YORK, "auto", []),
        ("* * * * *", NEW_YORK, "wall_clock", ["overlap_pause"]),
        ("0 1-5 * * *", NEW_YORK, "auto", []),
        ("0 0 13 * 5", "UTC", "auto", ["days_both"]),
        ("0 0 */2 * 1", "UTC", "auto", ["days_both", "uneven_step"]),
        ("0 0 13 * *", "UTC", "auto", []),
        ("0 0 13 * ?", "UTC", "auto", []),
        ("*/7 * * * *", "UTC", "auto", ["uneven_step"]),
        ("0-59/7 * * * *", "UTC", "auto", ["uneven_step"]),
        ("3/7 * * * *", "UTC", "auto", ["uneven_step"]),
        ("10/20 * * * *", "UTC", "auto", []),
        ("*/15 */6 * */3 *", "UTC", "auto", []),
        ("0 */5 * * *", "UTC", "auto", ["uneven_step"]),
        ("0 0 */10 * *", "UTC", "auto", ["uneven_step"]),
        ("1-10/3 * * * *", "UTC", "auto", []),
        ("0 0 31 * *", "UTC", "auto", ["short_months"]),
        ("0 0 30 * *", "UTC", "auto", ["short_months"]),
        ("0 0 31 1,3 *", "UTC", "auto", []),
        ("0 0 28 * *", "UTC", "auto", []),
        ("0 0 1-31 * *", "UTC", "auto", []),
        ("0 0 L * *", "UTC", "auto", []),
        ("0 0 29 2 *", "UTC", "auto", ["short_months", "rare"]),
        ("0 0 1 4 *", "UTC", "auto", []),
    ],
)
def test_warnings(expression: str, zone: str, policy: str, expected: list[str]) -> None:
    assert codes(expression, zone, policy) == expected


@pytest.mark.parametrize(
    ("expression", "zone", "words"),
    [
        ("*/10 1-5 * * *", NEW_YORK, "on 2026-11-01 at 02:00 the clock goes back to 01:00; the 6 runs"),
        ("*/10 1-5 * * *", NEW_YORK, "pauses for 1 h"),
        ("*/5 1 * * *", "Australia/Lord_Howe", "pauses for 30 min"),
        ("0 0 13 * 5", "UTC", "day 13 of the month OR on Friday"),
        ("0 0 */2 * 1", "UTC", "must match both"),
        ("*/7 * * * *", "UTC", "0 follows 56"),
        ("0 0 31 * *", "UTC", "missing in February, April, June, September and November"),
        ("0 0 29 * *", "UTC", "missing in February of most years"),
        ("0 0 29 2 *", "Europe/Paris", "on 2028-02-29"),
    ],
)
def test_a_warning_says_what_happens(expression: str, zone: str, words: str) -> None:
    assert any(words in warning.text for warning in schedule_warnings(cron(expression, zone), at=AT))


def test_a_job_without_any_further_run_is_told() -> None:
    ended = cron("0 9 * * *", ends_at=instant("2026-01-01T00:00:00Z"))
    assert [warning.text for warning in schedule_warnings(ended, at=AT)] == ["there is no further run"]


def test_intervals_have_no_warnings() -> None:
    assert schedule_warnings(interval(7, AT), at=AT) == []


@pytest.mark.parametrize(
    ("expression", "policy", "effects"),
    [
        ("30 1 * * *", "auto", ["the run at 01:30: in the first pass only", "no run is affected"]),
        ("30 2 * * *", "auto", ["no run is affected", "the run at 02:30: once, at 03:00"]),
        (
            "*/15 1-2 * * *",
            "auto",
            ["the 4 runs from 01:00 on: in the first pass only", "the 4 runs from 02:00 on: once, at 03:00"],
        ),
        (
            "0 * * * *",
            "auto",
            ["the run at 01:00: in both passes", "the run at 02:00 would fall into the gap; none is added"],
        ),
    ],
)
def test_the_next_two_clock_changes_are_explained(expression: str, policy: str, effects: list[str]) -> None:
    notes = next_shifts(cron(expression, NEW_YORK, policy), at=AT)
    assert [note.at for note in notes] == [instant("2026-11-01T06:00:00Z"), instant("2027-03-14T07:00:00Z")]
    assert [note.text.split(": ", 1)[1] for note in notes] == effects


def test_zones_without_clock_changes_have_nothing_to_explain() -> None:
    assert next_shifts(cron("0 * * * *", "Asia/Tokyo"), at=AT) == []
    assert next_shifts(interval(60, AT), at=AT) == []
