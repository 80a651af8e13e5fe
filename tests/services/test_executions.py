"""Run now, retry and cancel: who may, what comes of it, and that no slot loses its identity."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scheduler_app.domain.states import Status
from scheduler_app.errors import Conflict, NotFound
from scheduler_app.models import DeadLetter, Event, Execution, Lease
from scheduler_app.services.executions import (
    cancel_execution,
    create_manual_execution,
    retry_execution,
)
from scheduler_app.services.jobs import delete_job, disable_job, edit_job, enable_job
from tests.factories import NOW, at, make_execution, make_job, make_worker
from tests.services.steps import claim, finish, fresh, tick

pytestmark = pytest.mark.django_db

RETRYABLE = {"failed", "timed_out", "dead_lettered", "cancelled"}
CANCELLABLE = {"pending", "retry_scheduled", "claimed"}


def run_now(job_id: int, seconds: float = 0) -> Execution:
    return create_manual_execution(job_id=job_id, actor="admin", now=at(seconds))


def retry(execution: Execution, seconds: float = 0, *, as_was: bool = False) -> Execution:
    return retry_execution(execution_id=execution.id, actor="admin", as_was=as_was, now=at(seconds))


def cancel(execution: Execution, seconds: float = 0) -> Execution:
    return cancel_execution(execution_id=execution.id, actor="admin", now=at(seconds))


def test_a_manual_run_is_due_at_once_and_says_who_asked() -> None:
    job = make_job(queue="reports", max_attempts=5, priority=2)

    row = run_now(job.id, 7.25)

    assert (row.trigger, row.status, row.task) == ("manual", "pending", "always_succeed")
    assert (row.scheduled_for, row.available_at, row.claim_at) == (at(7), at(7.25), at(7.25))
    assert (row.queue, row.max_attempts) == ("reports", 5)
    assert row.rank_at == at(7.25) - timedelta(minutes=2)
    event = Event.objects.get(action="job.triggered")
    assert (event.actor, event.object_id, event.job_id) == ("admin", row.id, job.id)


def test_a_manual_run_at_the_instant_of_a_slot_takes_nothing_from_it() -> None:
    job = make_job()

    manual = run_now(job.id)
    tick(NOW)

    slot = Execution.objects.get(trigger="schedule")
    assert manual.scheduled_for == slot.scheduled_for == NOW
    assert manual.delivery_key != slot.delivery_key
    job.refresh_from_db()
    assert (job.last_slot_for, job.next_run_at) == (NOW, at(60))


def test_a_manual_run_moves_no_pointer() -> None:
    job = make_job()
    run_now(job.id, -10)

    job.refresh_from_db()
    assert (job.last_slot_for, job.next_run_at, job.version) == (None, NOW, 1)


def test_two_manual_runs_of_one_second_are_two_runs() -> None:
    job = make_job()

    first, second = run_now(job.id), run_now(job.id)

    assert first.id != second.id
    assert first.delivery_key != second.delivery_key


def test_a_manual_run_of_a_busy_exclusive_job_waits_for_its_turn() -> None:
    job = make_job(overlap_policy="skip")
    make_execution(job, "running", slot=at(-60))

    row = run_now(job.id)

    assert (row.status, row.held_back, row.claim_at) == ("pending", True, None)


def test_a_manual_run_of_a_disabled_job_is_refused() -> None:
    job = make_job(name="Nightly")
    disable_job(job_id=job.id, actor="admin", now=NOW)

    with pytest.raises(Conflict, match=rf"job {job.id} \(Nightly\) is disabled; enable it"):
        run_now(job.id)
    assert not Execution.objects.exists()


def test_a_manual_run_of_a_job_that_is_gone_is_not_found() -> None:
    job = make_job()
    delete_job(job_id=job.id, actor="admin", now=NOW)

    for job_id in (job.id, 999_999):
        with pytest.raises(NotFound, match=f"(no job {job_id}|job {job_id} was deleted)$"):
            run_now(job_id)


def test_a_finished_one_time_job_can_still_be_run_by_hand() -> None:
    job = make_job(run_at="2026-03-02T12:00:00Z")
    tick(NOW)

    assert run_now(job.id, 60).status == "pending"


@pytest.mark.parametrize("status", list(Status))
def test_a_retry_is_for_what_ended_badly_and_nothing_else(status: Status) -> None:
    original = make_execution(make_job(), status)

    if status in RETRYABLE:
        assert retry(original).retry_of_id == original.id
    else:
        with pytest.raises(Conflict, match=f"execution {original.id} is {status}; only"):
            retry(original)
        assert Execution.objects.count() == 1


def test_a_retry_is_a_new_row_of_the_same_occurrence() -> None:
    worker = make_worker()
    make_job(max_attempts=1)
    tick(NOW)
    [claimed] = claim(worker)
    finish(worker, claimed, "failed", now=at(5))
    original = fresh(claimed)

    again = retry(original, 600)

    assert (again.trigger, again.status, again.attempts) == ("retry", "pending", 0)
    assert (again.scheduled_for, again.available_at) == (original.scheduled_for, at(600))
    assert again.delivery_key == original.delivery_key
    assert fresh(original) == original
    assert fresh(original).status == "failed"
    letter = DeadLetter.objects.get()
    assert (letter.status, letter.replayed_as_id) == ("replayed", again.id)
    assert (letter.resolved_by, letter.resolved_at) == ("admin", at(600))
    assert Event.objects.get(action="execution.retried").object_id == again.id


def test_a_row_is_retried_once_and_the_refusal_names_the_retry() -> None:
    original = make_execution(make_job(), "failed")
    again = retry(original)

    with pytest.raises(Conflict, match=rf"retried already, as execution {again.id}"):
        retry(original)
    assert Execution.objects.count() == 2


def test_a_retry_that_failed_can_be_retried_itself() -> None:
    worker = make_worker()
    original = make_execution(make_job(max_attempts=1), "failed")
    first = retry(original)
    finish(worker, claim(worker)[0], "failed", now=at(1))

    second = retry(first, 2)

    assert (second.retry_of_id, second.delivery_key) == (first.id, original.delivery_key)


def test_a_retry_uses_the_present_definition() -> None:
    job = make_job(task="sleep_for_seconds", config={"seconds": 1}, max_attempts=1, queue="old")
    original = make_execution(job, "failed")
    edit_job(
        job_id=job.id,
        values={"config": {"seconds": 2}, "max_attempts": 4, "queue": "new"},
        actor="admin",
        now=NOW,
    )

    again = retry(original)

    assert (again.job_version, again.max_attempts, again.queue) == (2, 4, "new")
    assert claim(make_worker())[0].config == {"seconds": 2}


def test_a_retry_as_it_was_uses_the_definition_of_then() -> None:
    job = make_job(task="sleep_for_seconds", config={"seconds": 1}, max_attempts=1, queue="old")
    original = make_execution(job, "failed")
    edit_job(
        job_id=job.id,
        values={"task": "always_fail", "config": {}, "max_attempts": 4, "queue": "new"},
        actor="admin",
        now=NOW,
    )

    again = retry(original, as_was=True)

    assert (again.job_version, again.max_attempts, again.queue, again.task) == (
        1,
        1,
        "old",
        "sleep_for_seconds",
    )
    assert claim(make_worker())[0].config == {"seconds": 1}


def test_a_retry_of_a_disabled_job_is_refused_until_it_is_enabled() -> None:
    job = make_job()
    original = make_execution(job, "failed")
    disable_job(job_id=job.id, actor="admin", now=NOW)

    with pytest.raises(Conflict, match=f"job {job.id} is disabled; enable it first"):
        retry(original)

    enable_job(job_id=job.id, actor="admin", now=NOW)
    assert retry(original).status == "pending"


def test_a_retry_of_a_deleted_job_is_refused() -> None:
    job = make_job()
    original = make_execution(job, "failed")
    delete_job(job_id=job.id, actor="admin", now=NOW)

    with pytest.raises(Conflict, match=f"its job {job.id} was deleted"):
        retry(original)


def test_a_retry_of_a_busy_exclusive_job_waits_for_its_turn() -> None:
    job = make_job(overlap_policy="skip")
    original = make_execution(job, "failed", slot=at(-120))
    make_execution(job, "running", slot=at(-60))

    assert retry(original).held_back


@pytest.mark.parametrize("status", list(Status))
def test_a_cancel_reaches_what_has_not_started_and_nothing_else(status: Status) -> None:
    row = make_execution(make_job(), status)

    if status in CANCELLABLE:
        done = cancel(row, 3)
        assert (done.status, done.finished_at, done.reason) == ("cancelled", at(3), "cancelled by admin")
        assert (done.claim_at, done.claim_token) == (None, None)
        assert Event.objects.get(action="execution.cancelled").object_id == row.id
    else:
        with pytest.raises(Conflict, match=f"execution {row.id} is {status} and cannot be cancelled"):
            cancel(row)
        assert fresh(row).status == status
    assert Lease.objects.exists() == (status == "running")


def test_a_cancel_of_a_running_row_says_how_it_will_end() -> None:
    with pytest.raises(Conflict, match="it must finish, time out or be recovered"):
        cancel(make_execution(make_job(), "running"))


def test_a_cancelled_head_lets_the_next_in_line_start() -> None:
    job = make_job(overlap_policy="queue")
    head, behind = make_execution(job, slot=at(-2)), make_execution(job, slot=at(-1), held_back=True)

    cancel(head)

    assert (fresh(behind).held_back, fresh(behind).claim_at) == (False, at(-1))


def test_a_cancel_from_the_middle_of_the_line_leaves_the_head_where_it_is() -> None:
    job = make_job(overlap_policy="queue")
    rows = [make_execution(job, slot=at(number - 9), held_back=number > 0) for number in range(3)]

    cancel(rows[1])

    assert fresh(rows[0]).claim_at == at(-9)
    assert fresh(rows[2]).held_back


@pytest.mark.parametrize("verb", [retry_execution, cancel_execution])
def test_an_execution_that_never_was_is_not_found(verb: object) -> None:
    with pytest.raises(NotFound, match="no execution 424242"):
        verb(execution_id=424_242, actor="admin")  # type: ignore[operator]
