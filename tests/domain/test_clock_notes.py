"""Remarks at runs near a clock change."""

from __future__ import annotations

import pytest

from scheduler_app.domain.occurrences import clock_note
from tests.domain.vectors import cron, instant, interval, one_time

NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    ("expression", "policy", "zone", "at", "note"),
    [
        ("30 2 * * *", "auto", NEW_YORK, "2026-03-08T07:00:00Z", "after gap (02:30 does not exist)"),
        ("0,30 2,3 * * *", "auto", NEW_YORK, "2026-03-08T07:00:00Z", "after gap (02:00 does not exist)"),
        ("0 3 * * *", "auto", NEW_YORK, "2026-03-08T07:00:00Z", ""),
        ("0 * * * *", "auto", NEW_YORK, "2026-03-08T07:00:00Z", ""),
        ("30 2 * * *", "auto", NEW_YORK, "2026-03-09T06:30:00Z", ""),
        ("30 1 * * *", "auto", NEW_YORK, "2026-11-01T05:30:00Z", "1st of 2"),
        ("*/30 * * * *", "auto", NEW_YORK, "2026-11-01T05:30:00Z", "1st of 2"),
        ("*/30 * * * *", "auto", NEW_YORK, "2026-11-01T06:30:00Z", "2nd of 2"),
        ("*/30 * * * *", "auto", NEW_YORK, "2026-11-01T07:00:00Z", ""),
        (
            "0 9 * * 5",
            "auto",
            "Pacific/Apia",
            "2011-12-30T10:00:00Z",
            "after gap (2011-12-30 09:00 does not exist)",
        ),
        (
            "15 2 * * *",
            "auto",
            "Australia/Lord_Howe",
            "2024-10-05T15:30:00Z",
            "after gap (02:15 does not exist)",
        ),
    ],
)
def test_a_cron_run_near_a_clock_change_says_so(
    expression: str, policy: str, zone: str, at: str, note: str
) -> None:
    assert clock_note(cron(expression, zone, policy), instant(at)) == note


def test_a_single_run_put_after_a_gap_says_so() -> None:
    schedule = one_time("2026-03-08T02:30:00", NEW_YORK)
    assert clock_note(schedule, instant("2026-03-08T07:00:00Z")) == "after gap (02:30 does not exist)"
    assert (
        clock_note(one_time("2026-11-01T01:30:00", NEW_YORK), instant("2026-11-01T05:30:00Z")) == "1st of 2"
    )


def test_an_interval_in_utc_has_no_remarks() -> None:
    at = instant("2026-03-08T07:00:00Z")
    assert clock_note(interval(60, at), at) == ""
