"""Two who want one execution: the row decides, and who lost it writes nothing, not even after a lock wait."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from scheduler_app.domain.states import Status
from scheduler_app.errors import Conflict
from scheduler_app.models import Alert, Attempt, DeadLetter, Execution, Lease
from scheduler_app.services import transactions
from scheduler_app.services.claiming import Claimed
from scheduler_app.services.executions import cancel_execution, retry_execution
from scheduler_app.services.heartbeats import Identity
from scheduler_app.services.jobs import disable_job
from scheduler_app.services.recovery import recover_lost_leases
from scheduler_app.services.transactions import daemon_transaction
from scheduler_app.services.transitions import apply, ended, lock_rows
from tests.concurrency.actors import Actors, Gate, actors, result, until_somebody_waits
from tests.factories import NOW, at, make_execution, make_job, make_worker
from tests.services.steps import claim, finish, fresh
from tests.waiting import wait_until

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


def snapshot() -> dict[str, list[Any]]:
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in (Execution, Attempt, Lease, DeadLetter, Alert)
    }


def write_late(stage: Actors, row_id: int, write: Callable[[], Any], meanwhile: Callable[[], Any]) -> Any:
    """A third session holds the row; `write` waits for it while `meanwhile` happens in that session."""
    locked, go_on = Gate(), Gate()

    def third_session() -> None:
        with transaction.atomic():
            lock_rows([row_id])
            locked.open()
            go_on.wait()
            meanwhile()

    holding = stage.start(third_session)
    locked.wait()
    late: Future[Any] = stage.start(write)
    until_somebody_waits()
    go_on.open()
    result(holding)
    return result(late)


def run_again(worker: Identity, now: datetime) -> Callable[[], None]:
    """Recovery takes the row back and `worker` starts it as attempt 2."""

    def steps() -> None:
        assert recover_lost_leases(now=now) == 1
        [current] = claim(worker, now=now)
        assert current.row.attempts == 2

    return steps


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "timed_out"])
def test_a_frozen_holder_that_wakes_inside_a_lock_wait_changes_nothing(outcome: str) -> None:
    frozen, successor = make_worker("frozen"), make_worker("successor", now=at(60))
    row = make_execution(make_job())
    [old] = claim(frozen)

    with actors() as stage:
        lost = write_late(
            stage, row.id, lambda: finish(frozen, old, outcome, now=at(61)), run_again(successor, at(60))
        )

    assert [each.claimed.token for each in lost] == [old.token]
    row.refresh_from_db()
    assert (row.status, row.attempts, row.finished_at) == ("running", 2, None)
    assert row.claim_token != old.token
    assert list(Attempt.objects.values_list("number", "outcome", "worker_id")) == [(1, "lost", "frozen")]
    assert Lease.objects.get().worker == successor.incarnation


def test_the_guard_alone_stops_a_statement_that_waited_for_the_row() -> None:
    """Without the lock before it: PostgreSQL looks at id, status and token again after the wait."""
    frozen, successor = make_worker("frozen"), make_worker("successor", now=at(60))
    row = make_execution(make_job())
    [old] = claim(frozen)

    with actors() as stage:
        changed = write_late(
            stage,
            row.id,
            lambda: apply([ended(old.row, status=Status.SUCCEEDED, reason="", now=at(61))]),
            run_again(successor, at(60)),
        )

    assert changed == set()
    assert (fresh(row).status, fresh(row).attempts) == ("running", 2)


def test_the_others_of_a_batch_that_waited_are_written() -> None:
    frozen, successor = make_worker("frozen"), make_worker("successor", now=at(60))
    job = make_job()
    rows = [make_execution(job, slot=at(number - 9)) for number in range(3)]
    held = claim(frozen)

    def batch() -> set[int]:
        return apply([ended(each.row, status=Status.SUCCEEDED, reason="", now=at(61)) for each in held])

    def take_one() -> None:
        Lease.objects.exclude(execution=rows[1]).update(worker=successor.incarnation)
        assert recover_lost_leases(now=at(60)) == 1
        assert len(claim(successor, now=at(60))) == 1

    with actors() as stage:
        changed = write_late(stage, rows[1].id, batch, take_one)

    assert changed == {rows[0].id, rows[2].id}
    assert [fresh(row).status for row in rows] == ["succeeded", "running", "succeeded"]


def test_recovery_leaves_a_row_that_is_being_completed() -> None:
    worker = make_worker()
    row = make_execution(make_job())
    [held] = claim(worker)
    written, go_on = Gate(), Gate()

    def complete() -> None:
        with transaction.atomic():
            finish(worker, held, "succeeded", now=at(59))
            written.open()
            go_on.wait()

    with actors() as stage:
        completing = stage.start(complete)
        written.wait()
        assert recover_lost_leases(now=at(60)) == 0
        go_on.open()
        result(completing)

    assert recover_lost_leases(now=at(60)) == 0
    assert fresh(row).status == "succeeded"
    assert Attempt.objects.get().outcome == "succeeded"


def test_recovery_looks_at_the_lease_again_after_it_has_the_row() -> None:
    successor = make_worker("successor", now=at(60))
    row = make_execution(make_job(), "running", slot=at(-500))
    found, go_on = Gate(), Gate()

    def pause_before_the_lock(execute: Any, sql: str, *rest: Any) -> Any:
        if "FOR UPDATE" in sql:
            found.open()
            go_on.wait()
        return execute(sql, *rest)

    def slow_recovery() -> int:
        with connection.execute_wrapper(pause_before_the_lock):
            return recover_lost_leases(now=at(61))

    with actors() as stage:
        recovering = stage.start(slow_recovery)
        found.wait()
        run_again(successor, at(60))()
        go_on.open()
        assert result(recovering) == 0

    assert (fresh(row).status, fresh(row).attempts) == ("running", 2)
    assert Lease.objects.get().worker == successor.incarnation


def test_two_recoveries_at_once_take_each_row_once() -> None:
    worker = make_worker()
    job = make_job()
    for _ in range(60):
        make_execution(job)
    assert len(claim(worker, limit=60)) == 60

    def recover() -> int:
        return sum(recover_lost_leases(now=at(60), limit=7) for _ in range(12))

    with actors() as stage:
        taken = stage.together(recover, recover, recover)
        taken.append(recover_lost_leases(now=at(60)))

    assert sum(taken) == 60
    assert Attempt.objects.count() == 60
    assert set(Execution.objects.values_list("status", "attempts")) == {("retry_scheduled", 1)}


def test_a_cancel_that_waits_for_a_claim_finds_the_row_running() -> None:
    worker = make_worker()
    row = make_execution(make_job())
    claimed, go_on = Gate(), Gate()

    def slow_claim() -> list[Claimed]:
        with transaction.atomic():
            started = claim(worker)
            claimed.open()
            go_on.wait()
        return started

    with actors() as stage:
        claiming = stage.start(slow_claim)
        claimed.wait()
        cancelling = stage.start(cancel_execution, execution_id=row.id, actor="admin", now=at(1))
        until_somebody_waits()
        go_on.open()
        assert len(result(claiming)) == 1
        with pytest.raises(Conflict, match="is running and cannot be cancelled"):
            result(cancelling)

    assert fresh(row).status == "running"
    assert Lease.objects.count() == 1


def test_a_claim_beside_an_uncommitted_cancel_passes_the_row_over() -> None:
    worker = make_worker()
    row = make_execution(make_job())
    cancelled, go_on = Gate(), Gate()

    def slow_cancel() -> None:
        with transaction.atomic():
            cancel_execution(execution_id=row.id, actor="admin", now=NOW)
            cancelled.open()
            go_on.wait()

    with actors() as stage:
        cancelling = stage.start(slow_cancel)
        cancelled.wait()
        assert claim(worker) == []
        go_on.open()
        result(cancelling)

    assert claim(worker) == []
    assert (fresh(row).status, fresh(row).attempts) == ("cancelled", 0)


def test_a_disable_that_waits_for_a_claim_leaves_the_running_row() -> None:
    worker = make_worker()
    job = make_job()
    running, pending = make_execution(job, slot=at(-2)), make_execution(job, slot=at(-1))
    claimed, go_on = Gate(), Gate()

    def slow_claim() -> None:
        with transaction.atomic():
            assert len(claim(worker, limit=1)) == 1
            claimed.open()
            go_on.wait()

    with actors() as stage:
        claiming = stage.start(slow_claim)
        claimed.wait()
        disabling = stage.start(disable_job, job_id=job.id, actor="admin", now=NOW)
        until_somebody_waits()
        go_on.open()
        result(claiming)
        assert result(disabling).cancelled == 1

    assert [fresh(row).status for row in (running, pending)] == ["running", "cancelled"]


def test_one_of_many_retries_at_once_wins_and_the_others_are_told() -> None:
    originals = [make_execution(make_job(), "failed") for _ in range(5)]

    def retry(original: Execution) -> str:
        try:
            retry_execution(execution_id=original.id, actor="admin", now=NOW)
        except Conflict as refused:
            return refused.message
        return "retried"

    with actors() as stage:
        for original in originals:
            answers = stage.together(*[lambda original=original: retry(original)] * 4)
            assert answers.count("retried") == 1
            assert all("retried already" in answer for answer in answers if answer != "retried")

    assert Execution.objects.filter(trigger="retry").count() == 5


def test_a_frozen_transaction_loses_its_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "IDLE_SECONDS", 1)
    row = make_execution(make_job())
    locked, go_on = Gate(), Gate()

    def frozen() -> None:
        with daemon_transaction():
            lock_rows([row.id])
            locked.open()
            go_on.wait()
            lock_rows([row.id])

    with actors() as stage:
        freezing = stage.start(frozen)
        locked.wait()
        with transaction.atomic():
            wait_until(
                lambda: lock_rows([row.id], skip_locked=True), seconds=10, what="the row is free again"
            )
        go_on.open()
        with pytest.raises(DatabaseError):
            result(freezing)


def test_a_write_does_not_wait_for_a_row_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "LOCK_SECONDS", 1)
    worker = make_worker()
    row = make_execution(make_job())
    [held] = claim(worker)
    locked, go_on = Gate(), Gate()

    def somebody_at_a_console() -> None:
        with transaction.atomic():
            lock_rows([row.id])
            locked.open()
            go_on.wait()

    with actors() as stage:
        console = stage.start(somebody_at_a_console)
        locked.wait()
        before = snapshot()
        with pytest.raises(OperationalError, match="lock timeout"):
            finish(worker, held)
        assert snapshot() == before
        go_on.open()
        result(console)

    assert finish(worker, held) == []
    assert fresh(row).status == "succeeded"
