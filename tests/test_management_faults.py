"""Loops asked to stop, frozen, killed or cut from the database: no run is lost, none counts twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scheduler_app.clock import database_now
from scheduler_app.models import Execution, Heartbeat, Lease
from scheduler_app.services.jobs import create_job
from scheduler_app.services.transactions import fetch_all
from tests.daemons import Daemons, daemons_in, history, sleeper, trigger, until_status
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(os.name == "nt", reason="signals as of POSIX"),
]


@pytest.fixture
def daemons(child_environment: Callable[..., dict[str, str]], tmp_path: Path) -> Iterator[Daemons]:
    """Starts loops on the database of the test."""
    with daemons_in(child_environment, tmp_path) as found:
        yield found


def test_with_a_scheduler_alone_due_slots_become_rows_that_wait(daemons: Daemons) -> None:
    job = create_job(
        values={
            "name": "each second",
            "task": "always_succeed",
            "schedule_type": "interval",
            "every": "1s",
            "overlap_policy": "allow",
        },
        actor="tester",
    )
    daemons.scheduler()

    wait_until(lambda: Execution.objects.filter(job=job).count() >= 3, 30, "three slots have their rows")

    assert set(Execution.objects.values_list("status", "attempts")) == {("pending", 0)}
    slots = list(Execution.objects.values_list("scheduled_for", flat=True))
    assert len(slots) == len(set(slots))


def test_an_idle_worker_and_an_idle_scheduler_sign_off_and_leave(daemons: Daemons) -> None:
    loops = [daemons.worker("worker-a"), daemons.scheduler()]

    for loop in loops:
        loop.send(signal.SIGTERM)

    assert [loop.exit_code() for loop in loops] == [0, 0]
    assert not Heartbeat.objects.exists()
    assert all("Traceback" not in loop.said() for loop in loops)


def test_a_worker_asked_to_stop_finishes_its_run_and_claims_no_other(daemons: Daemons) -> None:
    job = sleeper(3)
    running = trigger(job)
    worker = daemons.worker("worker-a", slots=1)
    until_status(running, "running")
    waiting = trigger(job)

    worker.send(signal.SIGTERM)

    assert worker.exit_code(30) == 0
    running.refresh_from_db()
    waiting.refresh_from_db()
    assert (running.status, waiting.status) == ("succeeded", "pending")
    assert history(running) == [(1, "succeeded", "worker-a")]
    assert not Heartbeat.objects.exists()


def test_a_run_that_outlasts_the_grace_is_handed_back_and_burns_no_attempt(daemons: Daemons) -> None:
    execution = trigger(sleeper(90, max_attempts=1))
    worker = daemons.worker("worker-a", DRAIN_SECONDS="1")
    until_status(execution, "running")

    worker.send(signal.SIGTERM)

    assert worker.exit_code() == 0
    execution.refresh_from_db()
    assert (execution.status, execution.attempts, execution.max_attempts) == ("pending", 1, 2)
    assert history(execution) == [(1, "released", "worker-a")]
    assert not Lease.objects.exists()
    assert not Heartbeat.objects.exists()


def test_a_run_that_must_not_be_repeated_is_abandoned_when_the_grace_is_over(daemons: Daemons) -> None:
    execution = trigger(sleeper(90, on_lost_worker="fail"))
    worker = daemons.worker("worker-a", DRAIN_SECONDS="1")
    until_status(execution, "running")

    worker.send(signal.SIGTERM)

    assert worker.exit_code() == 0
    execution.refresh_from_db()
    assert execution.status == "dead_lettered"
    assert execution.dead_letter.status == "open"


def test_a_second_signal_cuts_the_grace_short(daemons: Daemons) -> None:
    execution = trigger(sleeper(90))
    worker = daemons.worker("worker-a", DRAIN_SECONDS="80")
    until_status(execution, "running")
    worker.send(signal.SIGTERM)
    wait_until(lambda: Heartbeat.objects.filter(draining=True).exists(), what="the worker drains")
    assert worker.lives()

    worker.send(signal.SIGTERM)

    assert worker.exit_code() == 0
    execution.refresh_from_db()
    assert execution.status == "pending"
    assert history(execution) == [(1, "released", "worker-a")]


def test_a_worker_that_runs_once_drains_a_line_in_order_and_leaves_the_future_alone(daemons: Daemons) -> None:
    job = sleeper(0, overlap_policy="queue")
    line = [trigger(job) for _ in range(4)]
    later = trigger(sleeper(0))
    Execution.objects.filter(id=later.id).update(
        available_at="2199-01-01T00:00:00Z", claim_at="2199-01-01T00:00:00Z", rank_at="2199-01-01T00:00:00Z"
    )

    worker = daemons.worker("worker-a", "--once", slots=3)

    assert worker.exit_code(60) == 0
    assert [until_status(row, "succeeded").attempts for row in line] == [1, 1, 1, 1]
    ends = [row.finished_at for row in line]
    assert ends == sorted(ends, key=str)
    later.refresh_from_db()
    assert later.status == "pending"


def test_the_run_of_a_killed_worker_is_taken_over_by_another(daemons: Daemons) -> None:
    execution = trigger(sleeper(4))
    first = daemons.worker("worker-a")
    daemons.scheduler()
    until_status(execution, "running")
    first.send(signal.SIGKILL)
    first.exit_code()

    daemons.worker("worker-b")

    until_status(execution, "succeeded")
    assert history(execution) == [(1, "lost", "worker-a"), (2, "succeeded", "worker-b")]
    assert not Lease.objects.exists()


def test_a_worker_frozen_past_its_window_writes_nothing_of_its_old_run(daemons: Daemons) -> None:
    execution = trigger(sleeper(3))
    frozen = daemons.worker("worker-a")
    daemons.scheduler()
    until_status(execution, "running")
    frozen.freeze()
    daemons.worker("worker-b")
    until_status(execution, "succeeded")
    settled = {field.attname: getattr(execution, field.attname) for field in Execution._meta.concrete_fields}

    frozen.send(signal.SIGCONT)
    wait_until(lambda: "worker.heartbeat_lost" in frozen.said(), what="the frozen worker notices")
    wait_until(
        lambda: Heartbeat.objects.filter(name="worker-a").count() == 2, what="it begins a new incarnation"
    )

    execution.refresh_from_db()
    assert history(execution) == [(1, "lost", "worker-a"), (2, "succeeded", "worker-b")]
    assert {name: getattr(execution, name) for name in settled} == settled
    assert frozen.lives()


def test_a_worker_that_was_frozen_works_again_afterwards(daemons: Daemons) -> None:
    frozen = daemons.worker("worker-a")
    frozen.freeze()
    wait_until(lambda: not _alive("worker-a"), 20, "its window closes")
    execution = trigger(sleeper(0))

    frozen.send(signal.SIGCONT)

    until_status(execution, "succeeded")
    assert history(execution) == [(1, "succeeded", "worker-a")]


def _alive(name: str) -> bool:
    return Heartbeat.objects.filter(name=name, alive_until__gt=database_now()).exists()


def backends(statement: str = "%") -> list[int]:
    """Sessions of this database that are not ours, by the statement they ran last."""
    return [
        row[0]
        for row in fetch_all(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND query LIKE %s",
            [statement],
        )
    ]


@pytest.mark.postgresql
def test_loops_whose_every_connection_is_cut_go_on_in_the_same_process(daemons: Daemons) -> None:
    worker, scheduler = daemons.worker("worker-a", ALIVE_SECONDS="30"), daemons.scheduler()
    wait_until(lambda: len(backends("LISTEN%")) == 2, what="both loops listen")
    job = create_job(
        values={
            "name": "each second",
            "task": "always_succeed",
            "schedule_type": "interval",
            "every": "1s",
            "overlap_policy": "allow",
        },
        actor="tester",
    )

    for _ in range(3):
        done = Execution.objects.filter(job=job, status="succeeded").count()
        assert fetch_all("SELECT count(pg_terminate_backend(pid)) FROM unnest(%s) AS pid", [backends()])
        wait_until(
            lambda done=done: Execution.objects.filter(job=job, status="succeeded").count() >= done + 2,  # type: ignore[misc]
            30,
            "slots are made and run again",
        )

    assert (worker.lives(), scheduler.lives()) == (True, True)
    wait_until(lambda: len(backends("LISTEN%")) == 2, 20, "both loops listen again")
    assert not Execution.objects.exclude(status__in=["pending", "running", "succeeded"]).exists()
    assert not Execution.objects.filter(attempts__gt=1).exists()


@pytest.mark.postgresql
def test_a_run_in_flight_survives_the_loss_of_its_workers_connections(daemons: Daemons) -> None:
    execution = trigger(sleeper(3))
    worker = daemons.worker("worker-a", ALIVE_SECONDS="30")
    until_status(execution, "running")

    fetch_all("SELECT count(pg_terminate_backend(pid)) FROM unnest(%s) AS pid", [backends()])

    until_status(execution, "succeeded")
    assert history(execution) == [(1, "succeeded", "worker-a")]
    assert worker.lives()
