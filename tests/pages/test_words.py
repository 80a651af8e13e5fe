"""What the pages say: lengths, shares, instants, bars and the sentences about jobs and executions."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.test import RequestFactory

from scheduler_app.models import Execution, Job
from scheduler_app.templatetags.marks import (
    EXECUTION_MARKS,
    duration_text,
    in_zone,
    local_text,
    megabytes,
    percent,
    start_lag,
)
from scheduler_app.views.errors import server_error
from scheduler_app.views.execution_words import steps_of, why
from scheduler_app.views.job_words import attempts_words, job_sentence, short_length
from scheduler_app.views.run_bars import bars_of
from tests.queries.rows import NOON


def execution(status: str, **values: object) -> Execution:
    """A row that is not stored; it started at noon and took two seconds unless told otherwise."""
    plain: dict[str, object] = {
        "status": status,
        "trigger": "schedule",
        "scheduled_for": NOON,
        "available_at": NOON,
        "started_at": NOON,
        "finished_at": NOON + timedelta(seconds=2),
        "attempts": 1,
        "max_attempts": 3,
    }
    return Execution(**{**plain, **values})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.00 s"), (0.42, "0.42 s"), (12.34, "12.3 s"), (245, "4 m 05 s"), (7380, "2 h 03 m"), (None, "–")],
)
def test_lengths_are_written_for_people(seconds: float | None, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"), [(None, "–"), (1.0, "100 %"), (0.0, "0 %"), (0.9996, "99.9 %"), (0.875, "87.5 %")]
)
def test_a_hundred_percent_means_all(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_instants_name_their_offset_and_another_year() -> None:
    assert in_zone(NOON, "America/Los_Angeles") == "Fri 2 Jan 2026 04:00:00 (UTC−08:00)"
    assert in_zone(NOON, "UTC").endswith("(UTC)")
    assert local_text(NOON, ZoneInfo("UTC"), NOON) == "2 Jan 12:00:00"
    assert local_text(NOON, ZoneInfo("UTC"), NOON.replace(year=2027)) == "2 Jan 2026 12:00:00"


def test_a_lag_is_told_from_a_second_on_and_for_scheduled_runs_only() -> None:
    late = NOON + timedelta(seconds=3)

    assert start_lag(execution("running", started_at=late)) == "+3.00 s"
    assert start_lag(execution("running", started_at=NOON + timedelta(seconds=1))) == ""
    assert start_lag(execution("running", started_at=late, trigger="manual")) == ""
    assert (megabytes(None), megabytes(42_300_000)) == ("–", "42.3 MB")


def test_bars_read_in_grey_success_up_failure_down() -> None:
    bars = bars_of([execution("succeeded"), execution("failed"), execution("missed", started_at=None)])
    up, down, dash = bars.bars

    assert up.y + up.height == 14 and down.y == 14 and dash.height == 2
    assert dash.x == 175 and up.x < down.x < dash.x
    assert bars.sentence == "last 3: 1 succeeded, 1 failed, 1 skipped"


def test_bars_hold_the_last_thirty_and_every_status_has_a_mark() -> None:
    assert len(bars_of([execution("succeeded")] * 40).bars) == 30
    assert {bars_of([execution(status)]).bars[0].css for status in EXECUTION_MARKS} == {
        "st-ok",
        "st-run",
        "st-wait",
        "st-retry",
        "st-fail",
        "st-dead",
        "st-skip",
    }
    assert bars_of([]).sentence == "never ran"


def test_a_long_run_is_taller_than_a_short_one_but_stays_in_the_drawing() -> None:
    runs = [
        execution("succeeded", finished_at=NOON + timedelta(seconds=length))
        for length in (0.01, 2, 2, 90_000)
    ]
    heights = [bar.height for bar in bars_of(runs).bars]

    assert heights[0] == 4 and heights[1] == 8 and heights[3] == 13


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (execution("pending"), "Queued: waits for a free worker slot."),
        (execution("pending", held_back=True), "Waiting for its turn: an earlier run"),
        (execution("claimed"), "Claimed by a worker"),
        (execution("running", attempts=2), "Running: attempt 2 of 3."),
        (execution("retry_scheduled", reason="boom."), "Waiting for attempt 2 of 3: boom."),
        (execution("succeeded"), "Succeeded at the first attempt."),
        (execution("succeeded", attempts=2), "Succeeded at attempt 2 of 3."),
        (execution("missed", reason="overlap: busy"), "Skipped: overlap: busy."),
        (execution("cancelled"), "Cancelled before it ran."),
        (execution("failed", reason="boom"), "Failed at attempt 1 of 3: boom."),
        (execution("timed_out"), "Stopped at its time limit, attempt 1 of 3."),
        (execution("dead_lettered", attempts=3), "Given up after attempt 3 of 3."),
    ],
)
def test_every_state_says_why(row: Execution, sentence: str) -> None:
    assert why(row, []).startswith(sentence)


def test_steps_tell_what_happened_and_what_is_still_to_come() -> None:
    ended = steps_of(execution("succeeded", started_at=NOON + timedelta(seconds=1)))
    waiting = steps_of(execution("pending", started_at=None, finished_at=None, attempts=0))
    skipped = steps_of(execution("missed", started_at=None, attempts=0))

    assert [(step.label, step.gap) for step in ended] == [
        ("Due", ""),
        ("Started", "after 1.00 s"),
        ("Ended", "ran 1.00 s"),
    ]
    assert waiting[0].may_be_late and [step.at for step in waiting[1:]] == [None, None]
    assert [step.label for step in skipped] == ["Due", "Ended"]


def test_the_sentence_of_a_job_names_its_policies() -> None:
    job = Job(overlap_policy="queue", misfire_policy="skip", misfire_grace_seconds=600, max_attempts=1)

    sentence = job_sentence(job, "Every 5 minutes")

    assert sentence.startswith(
        "Every 5 minutes; one at a time, later ones wait in line; one attempt, no retry"
    )
    assert "skipped (late is more than 10 min)" in sentence and "stopped after 5 min" in sentence


def test_waits_between_attempts_are_computed() -> None:
    assert attempts_words(Job(max_attempts=5)) == "up to 5 attempts, 30 s, 1 min, 2 min… apart"
    assert attempts_words(Job(max_attempts=2, retry_jitter="full")) == "up to 2 attempts, at most 30 s apart"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (90, "90 s"),
        (120, "2 min"),
        (135, "2 min 15 s"),
        (3600, "1 h"),
        (9000, "2 h 30 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_short_lengths(seconds: float, text: str) -> None:
    assert short_length(seconds) == text


def test_an_error_of_ours_is_a_plain_page_without_details() -> None:
    request = RequestFactory().get("/", headers={"HX-Request": ""})

    page = server_error(request)
    fragment = server_error(RequestFactory().get("/", headers={"HX-Request": "true"}))

    assert page.status_code == 500 and b"Something broke on our side" in page.content
    assert fragment.status_code == 500 and fragment.content == b""
