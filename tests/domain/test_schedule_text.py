"""Sentences for schedules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_app.domain.schedule_text import dst_outcome
from tests.domain.vectors import cron, instant, interval, one_time, read_vectors

NOON = instant("2026-05-01T12:00:00Z")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("* * * * *", "Every minute"),
        ("*/10 * * * *", "Every 10 minutes"),
        ("0-59/10 0-23 * * *", "Every 10 minutes"),
        ("0 * * * *", "Every hour at minute 0"),
        ("@hourly", "Every hour at minute 0"),
        ("5,35 * * * *", "Every hour at minutes 5 and 35"),
        ("*/7 * * * *", "Every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"),
        ("0 9 * * 1-5", "At 09:00 on Monday to Friday"),
        ("30 8,18 * * *", "At 08:30 and 18:30"),
        ("0 0 1 * *", "At 00:00 on day 1 of the month"),
        ("0 0 1 1 *", "At 00:00 on day 1 of the month in January"),
        ("0 0 L * *", "At 00:00 on the last day of the month"),
        ("0 0 15,L * *", "At 00:00 on day 15 and the last day of the month"),
        ("0 0 13 * 5", "At 00:00 on day 13 of the month or on Friday"),
        ("0 0 13 6 5", "At 00:00 on day 13 of the month or on Friday, in June"),
        ("0 0 */2 * 1", "At 00:00 on Monday when it is also every 2nd day from day 1 of the month"),
        ("0 0 * * MON#1,5L", "At 00:00 on the first Monday and the last Friday of the month"),
        ("0 0 * * SAT,SUN", "At 00:00 on Sunday and Saturday"),
        ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:59 on Monday to Friday"),
        ("* 9 * * *", "Every minute from 09:00 to 09:59"),
        ("0 */2 * * *", "At minute 0 of every 2nd hour from 00:00"),
        ("*/20 */6 * * *", "Every 20 minutes in the hours 00, 06, 12 and 18"),
        ("*/20 */3 * * *", "Every 20 minutes of every 3rd hour from 00:00"),
        ("3,5 1-4,9 * * *", "At minutes 3 and 5 of the hours 01 to 04 and 09"),
        ("0 0 1-31 * 5", "At 00:00"),
        ("0 0 * JAN-MAR,JUL 0-6", "At 00:00 in January to March and July"),
        ("0 0 */3 * *", "At 00:00 on every 3rd day from day 1 of the month"),
    ],
)
def test_a_cron_expression_reads_as_a_sentence(expression: str, sentence: str) -> None:
    assert cron(expression).describe() == f"{sentence}, UTC"


def test_the_zone_is_named() -> None:
    assert cron("0 9 * * *", "Europe/Paris").describe() == "At 09:00, Europe/Paris time"


def test_intervals_and_single_runs_name_their_instants() -> None:
    assert interval(300, NOON).describe() == "Every 5 minutes, counted from 2026-05-01T12:00:00Z"
    assert interval(86_400, NOON).describe() == "Every day, counted from 2026-05-01T12:00:00Z"
    assert interval(61, NOON).describe() == "Every 61 seconds, counted from 2026-05-01T12:00:00Z"
    assert one_time("2026-05-01T12:00:00Z").describe() == "Once, at 2026-05-01T12:00:00Z"
    assert (
        one_time("2026-03-08T02:30:00", "America/New_York").describe()
        == "Once, at 2026-03-08T07:00:00Z (2026-03-08T03:00:00-04:00 America/New_York)"
    )


def test_the_window_is_part_of_the_sentence() -> None:
    schedule = cron("0 9 * * *", starts_at=NOON, ends_at=instant("2027-01-01T00:00:00Z"))
    assert (
        schedule.describe()
        == "At 09:00, UTC, not before 2026-05-01T12:00:00Z, not after 2027-01-01T00:00:00Z"
    )


def test_the_outcome_of_the_policy_is_told() -> None:
    assert dst_outcome(cron("*/5 * * * *").rule) == "automatic: keeps its rhythm (every hour)"
    assert dst_outcome(cron("0 9 * * *").rule) == "automatic: each local time once"
    assert dst_outcome(cron("0 9 * * *", policy="cadence").rule) == "cadence: keeps its rhythm"
    assert dst_outcome(cron("* * * * *", policy="wall_clock").rule) == "wall clock: each local time once"
    assert dst_outcome(interval(60, NOON).rule) == ""


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(read_vectors("cron-vectors")))
def test_every_accepted_expression_has_a_sentence(row: dict[str, str]) -> None:
    sentence = cron(row["expression"], row["timezone"]).describe()
    assert sentence.startswith(("Every ", "At "))
    assert row["timezone"] in sentence
    assert "  " not in sentence
