"""What a backlog costs in commits, counted by PostgreSQL, through the real worker and real children."""

from __future__ import annotations

import selectors

import pytest
from django.db import connection

from scheduler_app.models import Attempt, Execution
from scheduler_app.runtime.signals import StopRequest
from scheduler_app.runtime.worker import WorkerLoop
from scheduler_app.services.transactions import fetch_all
from tests.factories import at, make_execution, make_job
from tests.harness import private_postgresql

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.processes,
    pytest.mark.timeout(300),
    pytest.mark.django_db(transaction=True),
]

ROWS = 1_000
SLOTS = 32
COMMITS_PER_EXECUTION = 0.2


def commits() -> int:
    """Transactions committed in this database, with those of this session."""
    fetch_all("SELECT pg_stat_force_next_flush()", [])
    return int(
        fetch_all("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()", [])[0][0]
    )


def drain(loop: WorkerLoop) -> None:
    """Rounds until nothing is claimable and nothing runs, waiting as the process would."""
    while not loop.finished():
        pause = loop.tick()
        with selectors.DefaultSelector() as selector:
            for source in loop.watched():
                if source.fileno() >= 0:
                    selector.register(source.fileno(), selectors.EVENT_READ)
            selector.select(max(pause, 0.0))


def test_a_backlog_costs_at_most_a_fifth_of_a_commit_an_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_CHILD_DATABASE", private_postgresql.address_of(connection.settings_dict))
    job = make_job()
    first = make_execution(job, slot=at(-ROWS))
    plain = {
        field.attname: getattr(first, field.attname)
        for field in Execution._meta.concrete_fields
        if field.attname not in {"id", "retry_of_id"}
    }
    Execution.objects.bulk_create(Execution(**plain) for _ in range(ROWS - 1))
    loop = WorkerLoop(slots=SLOTS, once=True)

    before = commits()
    drain(loop)
    spent = commits() - before
    with StopRequest() as stop:
        loop.drain(stop)

    assert set(Execution.objects.values_list("status", "attempts")) == {("succeeded", 1)}
    assert Attempt.objects.count() == ROWS
    assert spent <= COMMITS_PER_EXECUTION * ROWS, f"{spent} commits for {ROWS} executions"
