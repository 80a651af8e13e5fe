"""Intervals: anchor plus whole steps, by arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.vectors import answers_agree, forwards, instant, instants, interval, read_vectors

SECOND = timedelta(seconds=1)
CASES = [case for case in read_vectors("schedule-cases") if case["kind"] == "interval"]


@pytest.mark.parametrize("row", read_vectors("interval-vectors"), ids=lambda row: row["id"])
def test_every_vector_gives_its_runs(row: dict[str, Any]) -> None:
    schedule = interval(row["interval_seconds"], instant(row["anchor_utc"]))
    slots = forwards(schedule, instant(row["from_utc"]), row["count"])
    assert slots == instants(row["next_utc"])
    assert answers_agree(schedule, slots)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_known_case_gives_its_runs(case: dict[str, Any]) -> None:
    _, every, _, anchor = case["expression"].split()
    schedule = interval(int(every.removesuffix("s")), instant(anchor))
    slots = forwards(schedule, instant(case["from_utc"]), len(case["next_utc"]))
    assert slots == instants(case["next_utc"]), case["why"]


def test_a_future_anchor_is_itself_the_first_run() -> None:
    anchor = instant("2030-01-01T00:00:07Z")
    schedule = interval(3_600, anchor)
    assert schedule.next(instant("2026-01-01T00:00:00Z")) == anchor
    assert schedule.next(anchor) == anchor + timedelta(hours=1)
    assert schedule.previous(anchor) is None
    assert schedule.count(instant("2026-01-01T00:00:00Z"), anchor, 1) == 1


def test_a_century_of_seconds_is_counted_at_once() -> None:
    anchor = instant("1973-01-01T00:00:00Z")
    last = instant("2199-12-31T23:59:00Z")
    assert interval(1, anchor).count(anchor, last, 10**10) == (last - anchor) // SECOND + 1
    assert interval(1, anchor).count(anchor, last, 100_000) is None
    assert interval(1, anchor).next(last) is None
    assert interval(1, anchor).previous(datetime(9999, 1, 1, tzinfo=UTC)) == last


seconds = st.integers(94_694_400, 4_000_000_000)


@given(st.integers(1, 100_000_000), seconds, seconds)
def test_next_previous_and_count_fit_together(every: int, anchor: int, at: int) -> None:
    schedule = interval(every, datetime.fromtimestamp(anchor, UTC))
    now = datetime.fromtimestamp(at, UTC)
    following = schedule.next(now)
    assert following is not None
    assert (int(following.timestamp()) - anchor) % every == 0
    assert following > now
    assert anchor >= at or following - now <= timedelta(seconds=every)
    assert schedule.previous(following + SECOND) == following
    assert schedule.count(now, following, 2) == 1 + ((at - anchor) % every == 0 and at >= anchor)
