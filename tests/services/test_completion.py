"""Complete: the end of an attempt, all that belongs to it, and nothing of a holder that lost its lease."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from scheduler_app.models import Alert, Attempt, DeadLetter, Event, Execution, Lease
from scheduler_app.services.claiming import Claimed
from scheduler_app.services.completion import complete_attempts
from scheduler_app.services.executions import cancel_execution
from scheduler_app.services.heartbeats import Identity
from scheduler_app.services.transactions import daemon_transaction
from tests.factories import NOW, at, make_execution, make_job, make_worker
from tests.services.steps import attempt, claim, ending, finish, fresh

pytestmark = pytest.mark.django_db


def started(worker: Identity, *, max_attempts: int = 3, **values: Any) -> Claimed:
    """A run of a job of its own, held by the worker since NOW."""
    make_execution(make_job(max_attempts=max_attempts, **values))
    [claimed] = claim(worker)
    return claimed


def everything() -> dict[str, list[Any]]:
    """All rows a completion may touch, to compare before and after."""
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in (Execution, Attempt, Lease, DeadLetter, Alert, Event)
    }


def test_a_success_ends_the_row_frees_the_lease_and_keeps_what_was_seen() -> None:
    worker = make_worker("worker-a")
    claimed = started(worker)

    lost = finish(
        worker,
        claimed,
        now=at(7),
        output="hello",
        error="careful",
        result={"rows": 3},
        exit_code=0,
        cpu_seconds=0.25,
        peak_rss_bytes=1_000,
    )

    row = fresh(claimed)
    assert lost == []
    assert (row.status, row.finished_at, row.reason, row.claim_token) == ("succeeded", at(7), "", None)
    assert not Lease.objects.exists()
    tried = Attempt.objects.get()
    assert (tried.execution_id, tried.number, tried.outcome) == (row.id, 1, "succeeded")
    assert (tried.worker, tried.worker_id, tried.fence) == (worker.incarnation, "worker-a", claimed.fence)
    assert (tried.started_at, tried.finished_at) == (NOW, at(7))
    assert (tried.output, tried.error, tried.result, tried.exit_code) == ("hello", "careful", {"rows": 3}, 0)
    assert (tried.cpu_seconds, tried.peak_rss_bytes) == (0.25, 1_000)


def test_a_success_makes_neither_event_nor_alert_nor_dead_letter() -> None:
    worker = make_worker()
    claimed = started(worker)
    Event.objects.all().delete()

    finish(worker, claimed)

    assert not Event.objects.exists()
    assert not Alert.objects.exists()
    assert not DeadLetter.objects.exists()


@pytest.mark.parametrize("outcome", ["failed", "timed_out"])
def test_retries_follow_the_backoff_until_the_attempts_are_used_up(outcome: str) -> None:
    worker = make_worker()
    claimed = started(worker, max_attempts=4, retry_backoff_seconds=10)
    now, waits = 0.0, []

    for _ in range(3):
        finish(worker, claimed, outcome, now=at(now))
        row = fresh(claimed)
        assert (row.status, row.finished_at, row.claim_token) == ("retry_scheduled", None, None)
        assert row.claim_at == row.available_at
        waits.append((row.available_at - at(now)).total_seconds())
        now += waits[-1]
        assert claim(worker, now=at(now - 0.001)) == []
        [claimed] = claim(worker, now=at(now))
    finish(worker, claimed, outcome, now=at(now))

    assert waits == [10, 20, 40]
    row = fresh(claimed)
    assert (row.status, row.attempts, row.finished_at) == (outcome, 4, at(now))
    assert list(Attempt.objects.order_by("number").values_list("number", "outcome")) == [
        (number, outcome) for number in (1, 2, 3, 4)
    ]
    assert DeadLetter.objects.count() == 1


def test_a_retry_makes_no_dead_letter_and_no_alert() -> None:
    worker = make_worker()
    finish(worker, started(worker), "failed")

    assert not DeadLetter.objects.exists()
    assert not Alert.objects.exists()


def test_a_task_that_asks_not_to_be_retried_fails_at_once() -> None:
    worker = make_worker()
    claimed = started(worker)

    finish(worker, claimed, ending("failed", retryable=False, summary="no such account"))

    row = fresh(claimed)
    assert (row.status, row.attempts, row.reason) == ("failed", 1, "no such account")
    assert DeadLetter.objects.get().execution_id == row.id


def test_a_row_that_used_up_its_attempts_keeps_its_status_and_gets_dead_letter_alert_and_event() -> None:
    worker = make_worker("worker-a")
    claimed = started(worker, max_attempts=1, name="Nightly")

    finish(worker, claimed, "timed_out", now=at(5))

    row = fresh(claimed)
    assert row.status == "timed_out"
    letter = DeadLetter.objects.get()
    assert (letter.execution_id, letter.job_id, letter.status) == (row.id, row.job_id, "open")
    assert (letter.created_at, letter.reason) == (at(5), row.reason)
    alert = Alert.objects.get()
    assert (alert.kind, alert.job_id, alert.execution_id) == ("execution_timed_out", row.job_id, row.id)
    assert (alert.status, alert.count, alert.severity) == ("open", 1, "error")
    assert "Nightly" in alert.message
    event = Event.objects.get(action="execution.timed_out")
    assert (event.actor, event.object_id, event.job_id) == ("worker:worker-a", row.id, row.job_id)


def test_a_job_that_only_logs_gets_a_dead_letter_and_no_alert_row() -> None:
    worker = make_worker()
    claimed = started(worker, max_attempts=1, alert_mode="log_only")

    finish(worker, claimed, "failed")

    assert DeadLetter.objects.get().execution_id == claimed.row.id
    assert not Alert.objects.exists()


def test_failures_of_one_job_fold_into_one_alert_that_counts() -> None:
    worker = make_worker()
    job = make_job(max_attempts=1)
    for _ in range(3):
        make_execution(job)
    claimed = claim(worker)

    with daemon_transaction():
        complete_attempts([attempt(each, "failed") for each in claimed[:2]], identity=worker, now=at(1))
    finish(worker, claimed[2], "failed", now=at(9))

    alert = Alert.objects.get()
    assert (alert.count, alert.first_seen_at, alert.last_seen_at) == (3, at(1), at(9))
    assert alert.execution_id == claimed[2].row.id
    assert DeadLetter.objects.count() == 3


def test_a_batch_is_written_whole_whatever_its_order() -> None:
    worker = make_worker()
    job = make_job(max_attempts=2)
    for _ in range(6):
        make_execution(job)
    claimed = claim(worker)
    outcomes = ["succeeded", "failed", "timed_out", "succeeded", "failed", "succeeded"]
    batch = [attempt(each, outcome) for each, outcome in zip(claimed, outcomes, strict=True)]

    with daemon_transaction():
        lost = complete_attempts(batch[::-1], identity=worker, now=at(3))

    assert lost == []
    assert [fresh(each).status for each in claimed] == [
        "succeeded",
        "retry_scheduled",
        "retry_scheduled",
        "succeeded",
        "retry_scheduled",
        "succeeded",
    ]
    assert Attempt.objects.count() == 6
    assert not Lease.objects.exists()


def test_no_attempts_write_nothing() -> None:
    worker = make_worker()

    assert complete_attempts([], identity=worker, now=NOW) == []


def test_an_attempt_reported_twice_is_written_once() -> None:
    worker = make_worker()
    claimed = started(worker)
    finish(worker, claimed, now=at(1))
    before = everything()

    assert len(finish(worker, claimed, "failed", now=at(2))) == 1
    assert everything() == before


def test_a_holder_whose_row_runs_again_elsewhere_writes_nothing() -> None:
    old, new = make_worker("worker-a"), make_worker("worker-b")
    late = started(old, retry_backoff_seconds=0)
    finish(old, late, ending("lost"), now=at(1))
    [current] = claim(new, now=at(2))
    before = everything()

    [lost] = finish(old, late, "succeeded", now=at(3), output="too late")

    assert lost.claimed == late
    assert everything() == before
    finish(new, current, "failed", now=at(4))
    assert fresh(current).status == "retry_scheduled"


def test_a_wrong_token_alone_is_enough_to_write_nothing() -> None:
    worker = make_worker()
    claimed = started(worker)
    Execution.objects.filter(id=claimed.row.id).update(claim_token=uuid.uuid4())
    before = everything()

    assert len(finish(worker, claimed)) == 1
    assert everything() == before


def test_a_row_that_was_removed_is_reported_lost() -> None:
    worker = make_worker()
    claimed = started(worker)
    Lease.objects.all().delete()
    Execution.objects.all().delete()

    assert len(finish(worker, claimed)) == 1
    assert not Attempt.objects.exists()


def test_the_lost_of_a_batch_do_not_take_the_others_with_them() -> None:
    worker = make_worker()
    job = make_job()
    for _ in range(3):
        make_execution(job)
    claimed = claim(worker)
    Execution.objects.filter(id=claimed[1].row.id).update(claim_token=uuid.uuid4())

    with daemon_transaction():
        lost = complete_attempts([attempt(each) for each in claimed], identity=worker, now=at(1))

    assert [each.claimed.row.id for each in lost] == [claimed[1].row.id]
    assert [fresh(each).status for each in claimed] == ["succeeded", "running", "succeeded"]


def test_an_end_frees_the_job_for_the_next_in_line() -> None:
    worker = make_worker()
    job = make_job(overlap_policy="queue")
    rows = [make_execution(job, slot=at(number - 10), held_back=number > 0) for number in range(3)]
    [claimed] = claim(worker)
    assert claimed.row.id == rows[0].id

    finish(worker, claimed, now=at(1))

    assert (fresh(rows[1]).held_back, fresh(rows[1]).claim_at) == (False, at(-9))
    assert fresh(rows[2]).held_back


def test_a_waiting_retry_frees_the_job_too() -> None:
    worker = make_worker()
    job = make_job(overlap_policy="queue", retry_backoff_seconds=60)
    make_execution(job, slot=at(-10))
    behind = make_execution(job, slot=at(-5), held_back=True)
    [claimed] = claim(worker)

    finish(worker, claimed, "failed", now=at(1))

    assert not fresh(behind).held_back


def test_a_retry_at_once_keeps_its_place_before_the_next_in_line() -> None:
    worker = make_worker()
    job = make_job(overlap_policy="queue", retry_backoff_seconds=0)
    row = make_execution(job, slot=at(-10))
    behind = make_execution(job, slot=at(-5), held_back=True)
    [claimed] = claim(worker)

    finish(worker, claimed, "failed", now=at(1))

    assert fresh(behind).held_back
    assert claim(worker, now=at(1))[0].row.id == row.id


def test_an_attempt_handed_back_is_recorded_and_burns_none() -> None:
    worker = make_worker()
    claimed = started(worker, max_attempts=1)

    finish(worker, claimed, ending("released", summary="handed back"), now=at(4))

    row = fresh(claimed)
    assert (row.status, row.attempts, row.max_attempts, row.claim_at) == ("pending", 1, 2, at(4))
    assert Attempt.objects.get().outcome == "released"
    [again] = claim(worker, now=at(4))
    finish(worker, again, "failed", now=at(5))
    assert fresh(row).status == "failed"
    assert list(Attempt.objects.order_by("number").values_list("number", flat=True)) == [1, 2]


def test_an_attempt_handed_back_by_a_job_that_must_not_repeat_is_abandoned() -> None:
    worker = make_worker()
    claimed = started(worker, on_lost_worker="fail")

    finish(worker, claimed, ending("released"))

    assert fresh(claimed).status == "dead_lettered"
    assert DeadLetter.objects.count() == 1


def test_an_attempt_stopped_by_a_person_is_cancelled() -> None:
    worker = make_worker()
    claimed = started(worker)

    finish(worker, claimed, ending("terminated", summary="stopped by admin"))

    assert (fresh(claimed).status, fresh(claimed).reason) == ("cancelled", "stopped by admin")
    assert not DeadLetter.objects.exists()


def test_a_reason_is_cut_to_what_the_row_can_hold() -> None:
    worker = make_worker()
    claimed = started(worker, max_attempts=1)

    finish(worker, claimed, ending("failed", summary="x" * 5_000))

    assert len(fresh(claimed).reason) == 300


def test_an_end_and_all_that_belongs_to_it_stand_or_fall_together() -> None:
    worker = make_worker()
    claimed = started(worker, max_attempts=1)
    before = everything()

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        complete_attempts([attempt(claimed, "failed")], identity=worker, now=NOW)
        raise ZeroDivisionError

    assert everything() == before


def test_an_output_the_database_refuses_changes_nothing() -> None:
    worker = make_worker()
    claimed = started(worker)
    before = everything()

    with pytest.raises((DatabaseError, ValueError)), transaction.atomic():
        complete_attempts(
            [attempt(claimed, result={"x": float("nan")}, exit_code=2**40)], identity=worker, now=NOW
        )

    assert everything() == before


def test_a_cancelled_row_is_not_ended_by_a_late_report() -> None:
    worker = make_worker()
    job = make_job()
    row = make_execution(job, "claimed", holder=worker)
    cancel_execution(execution_id=row.id, actor="admin", now=NOW)

    assert fresh(row).status == "cancelled"
    assert not Lease.objects.exists()
