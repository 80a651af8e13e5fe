"""Overlap at the tick: what counts as an earlier run, per policy, and who waits for whose turn."""

from __future__ import annotations

import pytest

from scheduler_app.domain.states import Status
from scheduler_app.models import Execution
from tests.factories import NOW, at, make_execution, make_job, make_worker
from tests.services.steps import claim, finish, fresh, tick

pytestmark = pytest.mark.django_db

ACTIVE = {"pending", "claimed", "running"}


def new_row(slot_seconds: float = 0) -> Execution:
    return Execution.objects.get(trigger="schedule", scheduled_for=at(slot_seconds))


@pytest.mark.parametrize("status", [status for status in Status if status != "retry_scheduled"])
def test_under_skip_a_slot_is_missed_exactly_when_an_older_run_is_active(status: Status) -> None:
    job = make_job(overlap_policy="skip")
    make_execution(job, status, slot=at(-60))

    tick(NOW)

    row = new_row()
    assert row.status == ("missed" if status in ACTIVE else "pending")
    assert row.reason.startswith("overlap") == (status in ACTIVE)


def test_under_skip_a_retry_that_is_due_counts_as_active() -> None:
    job = make_job(overlap_policy="skip")
    make_execution(job, "retry_scheduled", slot=at(-60), available_at=NOW)

    tick(NOW)

    assert new_row().status == "missed"


def test_under_skip_a_retry_that_still_waits_does_not_count() -> None:
    job = make_job(overlap_policy="skip")
    make_execution(job, "retry_scheduled", slot=at(-60), available_at=at(1))

    tick(NOW)

    assert (new_row().status, new_row().held_back) == ("pending", False)


def test_under_skip_a_run_that_waits_for_its_turn_counts_as_active() -> None:
    job = make_job(overlap_policy="skip")
    make_execution(job, "pending", slot=at(-60), held_back=True)

    tick(NOW)

    assert new_row().status == "missed"


def test_runs_of_other_jobs_do_not_count() -> None:
    make_execution(make_job(overlap_policy="skip", every="1h", anchor_at=at(1800)), "running")
    make_job(overlap_policy="skip")

    tick(NOW)

    assert new_row().status == "pending"


@pytest.mark.parametrize("status", ["pending", "claimed", "running"])
def test_under_queue_a_slot_waits_for_its_turn_behind_an_active_run(status: str) -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, status, slot=at(-60))

    tick(NOW)

    row = new_row()
    assert (row.status, row.held_back, row.claim_at) == ("pending", True, None)


def test_under_queue_a_retry_that_still_waits_holds_nobody_back() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "retry_scheduled", slot=at(-60), available_at=at(300))

    tick(NOW)

    assert not new_row().held_back


@pytest.mark.parametrize("status", ["pending", "claimed", "running"])
def test_under_allow_a_slot_never_waits(status: str) -> None:
    job = make_job(overlap_policy="allow")
    make_execution(job, status, slot=at(-60))

    tick(NOW)

    assert (new_row().status, new_row().held_back) == ("pending", False)


def test_two_runs_of_a_job_that_allows_it_run_at_once() -> None:
    make_job(overlap_policy="allow")
    tick(NOW)
    tick(at(60))

    assert len(claim(make_worker(), now=at(60))) == 2


def test_under_queue_slots_run_one_at_a_time_in_slot_order() -> None:
    make_job(overlap_policy="queue")
    worker = make_worker()
    for number in range(4):
        tick(at(60 * number))

    started = []
    for number in range(4):
        [only] = claim(worker, now=at(240 + number))
        started.append(only.scheduled_for)
        assert claim(worker, now=at(240 + number)) == []
        finish(worker, only, now=at(241 + number))

    assert started == [at(0), at(60), at(120), at(180)]


def test_the_line_takes_as_many_as_its_limit_and_misses_the_rest() -> None:
    make_job(overlap_policy="queue", queue_limit=2)
    for number in range(4):
        tick(at(60 * number))

    assert [new_row(60 * number).status for number in range(4)] == ["pending", "pending", "missed", "missed"]
    assert "queue full: 2 runs were waiting" in new_row(120).reason


def test_a_place_in_the_line_is_free_again_after_a_run_ended() -> None:
    make_job(overlap_policy="queue", queue_limit=1)
    worker = make_worker()
    tick(NOW)
    [first] = claim(worker)

    tick(at(60))
    tick(at(120))
    finish(worker, first, now=at(130))
    tick(at(180))

    assert [new_row(60 * number).status for number in range(4)] == [
        "succeeded",
        "pending",
        "missed",
        "missed",
    ]
    assert claim(worker, now=at(190))[0].scheduled_for == at(60)
    tick(at(240))
    assert new_row(240).status == "pending"


def test_under_skip_the_next_slot_runs_when_the_earlier_run_ended() -> None:
    make_job(overlap_policy="skip")
    worker = make_worker()
    tick(NOW)
    [first] = claim(worker)
    tick(at(60))
    finish(worker, first, now=at(70))
    tick(at(120))

    assert [new_row(60 * number).status for number in range(3)] == ["succeeded", "missed", "pending"]


def test_a_due_retry_goes_before_later_slots_and_a_waiting_one_lets_them_pass() -> None:
    make_job(overlap_policy="queue", retry_backoff_seconds=90)
    worker = make_worker()
    tick(NOW)
    [first] = claim(worker)
    finish(worker, first, "failed", now=at(1))

    tick(at(60))
    [second] = claim(worker, now=at(60))
    assert second.scheduled_for == at(60)
    tick(at(120))
    assert claim(worker, now=at(120)) == []
    finish(worker, second, now=at(121))

    assert fresh(first).status == "retry_scheduled"
    [third] = claim(worker, now=at(122), limit=1)
    assert (third.scheduled_for, third.row.attempts) == (NOW, 2)
