"""Whose turn it is: states of the line, promotion of its head, and nothing else promoted."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.domain.overlap import OverlapState
from scheduler_app.services.turns import overlap_states, promote, promote_stranded
from tests.factories import NOW, at, make_execution, make_job
from tests.services.steps import fresh

pytestmark = pytest.mark.django_db

FREE = OverlapState(active=False, line_taken=False, waiting=0)


def test_a_job_without_rows_is_free() -> None:
    job = make_job(overlap_policy="queue")

    assert overlap_states([job.id], now=NOW) == {job.id: FREE}
    assert overlap_states([], now=NOW) == {}


@pytest.mark.parametrize("status", ["succeeded", "failed", "missed", "cancelled", "dead_lettered"])
def test_what_is_over_leaves_a_job_free(status: str) -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, status)

    assert overlap_states([job.id], now=NOW)[job.id] == FREE


@pytest.mark.parametrize(("status", "waiting"), [("pending", 1), ("claimed", 0), ("running", 0)])
def test_an_active_run_takes_the_line(status: str, waiting: int) -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, status)

    assert overlap_states([job.id], now=NOW)[job.id] == OverlapState(True, True, waiting)


def test_a_run_that_allows_overlap_is_active_without_taking_the_line() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "running", exclusive=False)

    assert overlap_states([job.id], now=NOW)[job.id] == OverlapState(True, False, 0)


def test_those_who_wait_are_counted() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "pending")
    for _ in range(3):
        make_execution(job, "pending", held_back=True)

    assert overlap_states([job.id], now=NOW)[job.id].waiting == 4


def test_states_of_many_jobs_cost_one_statement() -> None:
    jobs = [make_job(overlap_policy="queue").id for _ in range(5)]

    with CaptureQueriesContext(connection) as queries:
        assert len(overlap_states(jobs, now=NOW)) == 5

    assert len(queries) == 1


def test_the_head_of_a_free_line_is_promoted_and_no_other() -> None:
    job = make_job(overlap_policy="queue")
    rows = [make_execution(job, slot=at(-seconds), held_back=True) for seconds in (10, 30, 20)]

    assert promote([job.id], now=NOW) == [rows[1].id]

    assert (fresh(rows[1]).held_back, fresh(rows[1]).claim_at) == (False, at(-30))
    assert fresh(rows[0]).held_back
    assert fresh(rows[2]).held_back


def test_of_one_rank_the_older_row_is_the_head() -> None:
    job = make_job(overlap_policy="queue")
    rows = [make_execution(job, held_back=True) for _ in range(2)]

    assert promote([job.id], now=NOW) == [rows[0].id]


@pytest.mark.parametrize("status", ["running", "claimed", "pending"])
def test_nobody_is_promoted_while_the_job_is_taken(status: str) -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, status, slot=at(-60))
    make_execution(job, held_back=True)

    assert promote([job.id], now=NOW) == []


def test_a_retry_that_still_waits_holds_nobody_back() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "retry_scheduled", slot=at(-60), available_at=at(60))
    behind = make_execution(job, held_back=True)

    assert promote([job.id], now=NOW) == [behind.id]


def test_runs_that_allow_overlap_hold_nobody_back() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "running", slot=at(-60), exclusive=False)
    make_execution(job, "pending", slot=at(-30), exclusive=False)
    behind = make_execution(job, held_back=True)

    assert promote([job.id], now=NOW) == [behind.id]


def test_a_promotion_is_harmless_twice() -> None:
    job = make_job(overlap_policy="queue")
    for _ in range(2):
        make_execution(job, held_back=True)

    assert len(promote([job.id, job.id], now=NOW)) == 1
    assert promote([job.id], now=NOW) == []
    assert promote([], now=NOW) == []


def test_a_retry_that_waits_for_its_turn_keeps_its_status() -> None:
    job = make_job(overlap_policy="queue")
    row = make_execution(job, "retry_scheduled", held_back=True)

    promote([job.id], now=NOW)

    assert (fresh(row).status, fresh(row).claim_at) == ("retry_scheduled", NOW)


def test_the_tick_promotes_the_heads_of_all_free_jobs() -> None:
    free = [make_job(overlap_policy="queue") for _ in range(3)]
    busy = make_job(overlap_policy="queue")
    make_execution(busy, "running", slot=at(-60))
    for job in (*free, busy):
        for _ in range(2):
            make_execution(job, held_back=True)

    promoted = promote_stranded(now=NOW)

    assert sorted(fresh(row).job_id for row in promoted) == [job.id for job in free]
    assert promote_stranded(now=NOW) == []
