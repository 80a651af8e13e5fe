"""A worker's round: complete, claim and start in one transaction, and when to come again at once."""

from __future__ import annotations

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.models import Attempt, Execution, Job
from scheduler_app.services.dispatcher import Dispatcher
from scheduler_app.services.heartbeats import Identity
from tests.factories import NOW, at, make_execution, make_job, make_worker
from tests.services.steps import attempt, fresh

pytestmark = pytest.mark.django_db


def dispatcher(worker: Identity, queues: tuple[str, ...] = ()) -> Dispatcher:
    return Dispatcher(identity=worker, lane="task", tasks=worker.tasks, queues=queues)


def test_a_round_completes_and_starts_in_one_transaction() -> None:
    job = make_job()
    rows = [make_execution(job, slot=at(number - 9)) for number in range(3)]
    worker = make_worker()
    rounds = dispatcher(worker)
    first = rounds.round(finished=[], free_slots=2, now=NOW)

    with CaptureQueriesContext(connection) as queries:
        second = rounds.round(finished=[attempt(each) for each in first.started], free_slots=2, now=at(1))

    assert [each.row.id for each in first.started] == [rows[0].id, rows[1].id]
    assert [each.row.id for each in second.started] == [rows[2].id]
    assert [fresh(row).status for row in rows] == ["succeeded", "succeeded", "running"]
    savepoints = [query for query in queries if query["sql"].startswith("SAVEPOINT")]
    assert len(savepoints) == 1


def test_a_full_round_asks_for_no_other_and_an_empty_one_waits() -> None:
    make_execution(make_job())
    rounds = dispatcher(make_worker())

    assert not rounds.round(finished=[], free_slots=1, now=NOW).more
    empty = rounds.round(finished=[], free_slots=1, now=NOW)
    assert (empty.started, empty.more) == ([], False)


def test_a_round_that_had_to_leave_rows_standing_comes_again_at_once() -> None:
    job = make_job(overlap_policy="skip")
    for _ in range(3):
        make_execution(job)
    rounds = dispatcher(make_worker())

    assert rounds.round(finished=[], free_slots=3, now=NOW).more
    assert not rounds.round(finished=[], free_slots=2, now=NOW).more


def test_without_a_free_slot_a_round_only_completes() -> None:
    job = make_job()
    for _ in range(2):
        make_execution(job)
    worker = make_worker()
    rounds = dispatcher(worker)
    [started] = rounds.round(finished=[], free_slots=1, now=NOW).started

    last = rounds.round(finished=[attempt(started)], free_slots=0, now=at(1))

    assert (last.started, last.lost, last.more) == ([], [], False)
    assert sorted(Execution.objects.values_list("status", flat=True)) == ["pending", "succeeded"]


def test_a_short_round_cancels_due_rows_of_stopped_jobs() -> None:
    job = make_job()
    row = make_execution(job)
    Job.objects.filter(id=job.id).update(enabled=False)

    dispatcher(make_worker()).round(finished=[], free_slots=1, now=NOW)

    assert fresh(row).status == "cancelled"


def test_a_backlog_with_a_lower_bound_overlooks_no_row() -> None:
    job = make_job()
    for number in range(6):
        make_execution(job, slot=at(number - 60))
    rounds = dispatcher(make_worker())
    assert len(rounds.round(finished=[], free_slots=4, now=NOW).started) == 4
    early = make_execution(job, slot=at(-3_600))

    started = rounds.round(finished=[], free_slots=4, now=NOW).started

    assert early.id in [each.row.id for each in started]
    assert len(started) == 3


@pytest.mark.postgresql
def test_a_round_costs_the_same_statements_for_two_rows_and_for_thirty() -> None:
    counts = []
    for rows in (2, 30):
        for policy in ("skip", "queue", "allow"):
            for _ in range(rows // 2):
                make_execution(make_job(overlap_policy=policy, max_attempts=1))
        worker = make_worker(f"worker-{rows}")
        rounds = dispatcher(worker)
        started = rounds.round(finished=[], free_slots=rows, now=NOW).started
        assert len(started) == rows
        batch = [attempt(each, ("failed", "succeeded")[number % 2]) for number, each in enumerate(started)]
        with CaptureQueriesContext(connection) as queries:
            rounds.round(finished=batch, free_slots=rows, now=at(1))
        counts.append(len(queries))
        Job.objects.all().delete()

    assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_an_ending_the_database_refuses_stands_alone_and_is_not_dropped() -> None:
    job = make_job()
    for _ in range(3):
        make_execution(job)
    rounds = dispatcher(make_worker())
    started = rounds.round(finished=[], free_slots=3, now=NOW).started
    batch = [attempt(each, output="fine") for each in started]
    batch[1] = attempt(started[1], output="bad \x00 text", result={"x": "\ud800"})

    if connection.vendor == "postgresql":
        with pytest.raises((DataError, ValueError)):
            rounds.round(finished=batch, free_slots=0, now=at(1))
        assert rounds.complete_one_by_one(batch) == []
        assert "could not be stored" in Attempt.objects.get(execution_id=started[1].row.id).error
    else:
        assert rounds.complete_one_by_one(batch) == []

    assert [fresh(each).status for each in started] == ["succeeded"] * 3
    assert Attempt.objects.filter(output="fine").count() == 2
