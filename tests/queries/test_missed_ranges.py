"""Missed ranges: the newest of one job, within a bound, by the index, and in words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.errors import ValidationFailed
from scheduler_app.models import MissedRange
from scheduler_app.queries.missed_ranges import count_words, reason_words, recent_missed_ranges
from scheduler_app.queries.representations import missed_range_dict
from tests.queries.rows import NOON, make_job, make_missed_range


@pytest.mark.django_db
def test_the_newest_ranges_of_one_job_come_first_in_one_statement() -> None:
    job, other = make_job(), make_job()
    made = [make_missed_range(job, NOON + timedelta(hours=hour)) for hour in (2, 0, 3, 1)]
    make_missed_range(other, NOON + timedelta(hours=9))

    with CaptureQueriesContext(connection) as queries:
        found = recent_missed_ranges(job.pk, 3)

    assert found == [made[2], made[0], made[3]]
    assert len(queries) == 1
    assert recent_missed_ranges(other.pk + 1, 3) == []


@pytest.mark.django_db
def test_the_statement_walks_the_index_of_the_job() -> None:
    job = make_job()
    MissedRange.objects.bulk_create(
        MissedRange(
            job=job,
            first_slot_for=NOON + timedelta(minutes=number),
            last_slot_for=NOON + timedelta(minutes=number),
            count=1,
            reason="skipped",
            recorded_at=NOON,
        )
        for number in range(2_000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE scheduler_app_missedrange")
    with CaptureQueriesContext(connection) as queries:
        recent_missed_ranges(job.pk, 5)
    statement = queries[0]["sql"]
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {statement}")
        plan = " ".join(str(row) for row in cursor.fetchall())

    assert "missedrange_of_job" in plan


@pytest.mark.parametrize("limit", [0, -1, 100_000])
def test_a_limit_outside_the_bounds_is_refused(limit: int) -> None:
    with pytest.raises(ValidationFailed):
        recent_missed_ranges(1, limit)


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 slot"), (2_500, "2,500 slots"), (None, "more than 100,000 slots")]
)
def test_the_number_of_slots_is_said_in_words(count: int | None, words: str) -> None:
    assert count_words(MissedRange(count=count)) == words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("coalesced", "late, made up for by one newer run"),
        ("skipped", "late, and the job skips late runs"),
        ("disabled", "the job was disabled"),
        ("edited", "the job was edited"),
        ("fault", "the job was held by a fault"),
        ("of another release", "of another release"),
    ],
)
def test_each_reason_has_words_and_an_unknown_one_stands_for_itself(reason: str, words: str) -> None:
    assert reason_words(MissedRange(reason=reason)) == words


@pytest.mark.django_db
def test_a_range_as_json_has_five_fields() -> None:
    assert missed_range_dict(make_missed_range(make_job(), slots=10)) == {
        "first_slot_for": "2026-01-02T12:00:00Z",
        "last_slot_for": "2026-01-02T12:09:00Z",
        "count": 10,
        "reason": "disabled",
        "recorded_at": "2026-01-02T12:09:30Z",
    }
