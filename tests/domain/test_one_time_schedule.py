"""One instant from a text, with and without an offset."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from scheduler_app.domain.occurrences import parse_run_at
from scheduler_app.errors import ScheduleError
from tests.domain.vectors import instant, instants, one_time, read_vectors

SECOND = timedelta(seconds=1)
CASES = [case for case in read_vectors("schedule-cases") if case["kind"] == "one_time"]


@pytest.mark.parametrize("row", read_vectors("one-time-vectors"), ids=lambda row: row["id"])
def test_every_vector_gives_its_instant(row: dict[str, Any]) -> None:
    assert [parse_run_at(row["local"], row["timezone"])] == instants(row["next_utc"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_known_case_gives_its_run(case: dict[str, Any]) -> None:
    schedule = one_time(case["expression"], case["timezone"])
    assert [schedule.next(instant(case["from_utc"]))] == instants(case["next_utc"]), case["why"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"),
        ("2026-01-01t12:00:00Z".upper(), "2026-01-01T12:00:00Z"),
        ("2026-01-01 12:00", "2026-01-01T11:00:00Z"),
        ("2026-07-01T12:00", "2026-07-01T10:00:00Z"),
        ("2026-01-01T12:00:00.000Z", "2026-01-01T12:00:00Z"),
        ("2026-01-01T12:00:00+0530", "2026-01-01T06:30:00Z"),
        ("2026-01-01T12:00:00-00:30", "2026-01-01T12:30:00Z"),
        ("2199-12-31T23:59:00Z", "2199-12-31T23:59:00Z"),
        ("1973-01-01T00:00:00Z", "1973-01-01T00:00:00Z"),
    ],
)
def test_accepted_forms(text: str, expected: str) -> None:
    assert parse_run_at(text, "Europe/Paris") == instant(expected)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2026-13-01T00:00:00Z", "out_of_range"),
        ("2026-02-30T00:00:00Z", "out_of_range"),
        ("2026-01-01T24:00:00Z", "out_of_range"),
        ("2026-06-30T23:59:60Z", "out_of_range"),
        ("2026-01-01T00:00:00+25:00", "out_of_range"),
        ("2027-01-01T00:00:00.500Z", "sub_second"),
        ("1972-12-31T23:59:59Z", "out_of_range"),
        ("1972-12-31T00:00:00", "out_of_range"),
        ("2199-12-31T23:59:01Z", "out_of_range"),
        ("0001-01-01T00:00:00", "out_of_range"),
        ("9999-12-31T23:59:59", "out_of_range"),
        ("tomorrow", "syntax"),
        ("", "syntax"),
        ("2026-01-01", "syntax"),
        ("2026-W01-1T00:00:00Z", "syntax"),
        ("20260101T000000Z", "syntax"),
        ("٢٠٢٦-01-01T00:00:00Z", "syntax"),
        ("2026-01-01T00:00:00Z\n", "syntax"),
        ("2026-01-01T00:00:00 Europe/Paris", "syntax"),
        ("2" * 1_000_000, "syntax"),
        ("2026-01-01T00:00:00." + "0" * 1_000 + "Z", "syntax"),
    ],
)
def test_what_is_no_supported_second_is_refused(text: str, code: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_run_at(text, "UTC")
    assert (caught.value.code, caught.value.field) == (code, "run_at")
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("text", ["2026-13-01T00:00:00Z", "tomorrow"])
def test_an_unreadable_time_is_answered_with_the_accepted_form(text: str) -> None:
    with pytest.raises(ScheduleError, match="write 2026-01-31T09:00:00Z"):
        parse_run_at(text, "UTC")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd"])
def test_the_zone_is_checked_even_when_the_text_has_an_offset(zone: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_run_at("2026-01-01T12:00:00Z", zone)
    assert caught.value.field == "timezone"


def test_a_single_run_is_found_from_both_sides() -> None:
    at = instant("2026-01-01T12:00:00Z")
    schedule = one_time("2026-01-01T12:00:00Z")
    assert schedule.next(at - SECOND) == at
    assert schedule.next(at) is None
    assert schedule.previous(at + SECOND) == at
    assert schedule.previous(at) is None
    assert schedule.count(at, at, 1) == 1
    assert schedule.count(at + SECOND, at + SECOND, 1) == 0
    assert schedule.between(at, at + SECOND, 5) == [at]


def test_the_result_is_aware_and_whole() -> None:
    at = parse_run_at("2026-01-01T12:00:00+01:00", "UTC")
    assert at.utcoffset() == timedelta(0)
    assert at == datetime.fromisoformat("2026-01-01T11:00:00Z")
