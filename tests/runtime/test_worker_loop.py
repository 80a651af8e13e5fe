"""One worker's rounds with real children, driven by hand: poison, lost answers, a lapsed sign of life."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from scheduler_app.clock import database_now
from scheduler_app.models import Attempt, Execution, Heartbeat, Job, Lease
from scheduler_app.runtime.signals import StopRequest
from scheduler_app.runtime.worker import WorkerLoop
from tests.factories import make_execution, make_job
from tests.harness import private_postgresql
from tests.services.steps import fresh, pick
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

MakeLoop = Callable[..., WorkerLoop]


@pytest.fixture
def make_loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[MakeLoop]:
    """Makes workers whose children know the database of the test; at the end they are ended at once."""
    monkeypatch.setenv("TEST_CHILD_DATABASE", private_postgresql.address_of(connection.settings_dict))
    short = dataclasses.replace(
        settings.SCHEDULER, heartbeat_seconds=1, drain_seconds=0, artifact_dir=tmp_path
    )
    # Not overridden by the fixture of pytest-django: children are told the name of the settings module.
    monkeypatch.setattr(settings, "SCHEDULER", short)
    monkeypatch.setenv("ARTIFACT_DIR", str(tmp_path))
    loops: list[WorkerLoop] = []

    def make(**values: Any) -> WorkerLoop:
        loops.append(WorkerLoop(**{"slots": 4, "worker_id": "worker-a", **values}))
        return loops[-1]

    yield make
    for loop in loops:
        with StopRequest() as stop:
            loop.drain(stop)


def work_until(loop: WorkerLoop, done: Callable[[], bool], what: str) -> None:
    """Rounds until `done`."""

    def one_more_round() -> bool:
        loop.tick()
        return done()

    wait_until(one_more_round, 30, what)


def over(*rows: Execution) -> Callable[[], bool]:
    return lambda: all(fresh(row).finished_at is not None for row in rows)


def row_of(task: str = "always_succeed", config: dict[str, object] | None = None, **values: Any) -> Execution:
    """A run that is due now."""
    job = make_job(task=task, config=config or {}, **values)
    return make_execution(job, slot=database_now().replace(microsecond=0))


def test_runs_end_as_their_tasks_do_and_what_they_said_is_kept(make_loop: MakeLoop) -> None:
    good = row_of("write_file_artifact", {"filename": "a.txt", "content": "hello"})
    bad = row_of("always_fail", max_attempts=1)
    slow = row_of("sleep_for_seconds", {"seconds": 60}, timeout_seconds=1, max_attempts=1)
    loop = make_loop()

    work_until(loop, over(good, bad, slow), "all three are over")

    assert [fresh(row).status for row in (good, bad, slow)] == ["succeeded", "failed", "timed_out"]
    tried = {attempt.execution_id: attempt for attempt in Attempt.objects.all()}
    assert tried[good.id].result["bytes"] == 5
    assert "Wrote 5 bytes" in tried[good.id].output
    assert (tried[good.id].exit_code, tried[good.id].worker_id) == (0, "worker-a")
    assert "always_fail fails on purpose" in tried[bad.id].error
    assert "always_fail fails on purpose" in fresh(bad).reason
    assert fresh(slow).reason == "timed out after 1 s"
    assert not Lease.objects.exists()


def test_the_context_names_the_attempt(make_loop: MakeLoop) -> None:
    row = row_of()
    work_until(make_loop(), over(row), "it is over")

    output = Attempt.objects.get().output
    assert f"job {row.job_id}, execution {row.id}" in output
    assert "attempt 1" in output


@pytest.mark.parametrize(
    "columns", [{"config": [1]}, {"config": "x"}, {"timeout_seconds": 2_147_483_647}], ids=str
)
def test_a_damaged_definition_ends_its_own_run_and_no_other(
    make_loop: MakeLoop, columns: dict[str, Any]
) -> None:
    damaged, sound = row_of(max_attempts=1), row_of()
    Job.objects.filter(id=damaged.job_id).update(**columns)
    loop = make_loop()

    work_until(loop, over(damaged, sound), "both are over")

    assert fresh(sound).status == "succeeded"
    assert fresh(damaged).status == ("succeeded" if "timeout_seconds" in columns else "failed")


def test_a_task_nobody_knows_any_more_fails_its_run_and_no_other(make_loop: MakeLoop) -> None:
    gone, sound = row_of(), row_of()
    Execution.objects.filter(id=gone.id).update(task="gone_task")
    loop = make_loop()

    work_until(loop, over(sound), "the sound one is over")

    assert fresh(gone).status == "pending"


def test_what_a_claim_took_before_its_answer_was_lost_is_run(make_loop: MakeLoop) -> None:
    loop = make_loop()
    loop.tick()
    row = row_of()
    assert len(pick(loop.identity, now=database_now()).claimed) == 1

    loop.database_lost()
    work_until(loop, over(row), "the unknown claim is over")

    assert (fresh(row).status, fresh(row).attempts) == ("succeeded", 1)


def test_a_worker_whose_sign_of_life_lapsed_drops_its_runs_and_begins_anew(make_loop: MakeLoop) -> None:
    row = row_of("sleep_for_seconds", {"seconds": 60})
    loop = make_loop()
    work_until(loop, lambda: fresh(row).status == "running", "it runs")
    first = loop.identity.incarnation
    Heartbeat.objects.update(alive_until=database_now() - timedelta(seconds=1))

    work_until(loop, lambda: loop.identity.incarnation != first, "a new incarnation")

    assert fresh(row).status == "running"
    assert Lease.objects.get().worker == first
    assert not Attempt.objects.exists()
    assert Heartbeat.objects.filter(incarnation=loop.identity.incarnation, running=0).exists()
    other = row_of()
    work_until(loop, over(other), "it works under its new name")


def test_a_run_once_is_finished_when_nothing_is_claimable(make_loop: MakeLoop) -> None:
    rows = [row_of() for _ in range(6)]
    loop = make_loop(once=True)

    work_until(loop, loop.finished, "the worker is finished")

    assert all(fresh(row).status == "succeeded" for row in rows)


def test_a_worker_with_queues_leaves_the_others_alone(make_loop: MakeLoop) -> None:
    mail, other = row_of(queue="mail"), row_of()
    loop = make_loop(queues=("mail",), once=True)

    work_until(loop, loop.finished, "the worker is finished")

    assert (fresh(mail).status, fresh(other).status) == ("succeeded", "pending")
    assert Heartbeat.objects.get().queues == ["mail"]


def test_an_idle_worker_waits_for_its_next_poll_or_sign_of_life(make_loop: MakeLoop) -> None:
    loop = make_loop()
    loop.tick()

    assert 0 < loop.tick() <= 1.0


def test_a_drain_hands_back_what_still_runs(make_loop: MakeLoop) -> None:
    row = row_of("sleep_for_seconds", {"seconds": 60}, max_attempts=1)
    loop = make_loop()
    work_until(loop, lambda: fresh(row).status == "running", "it runs")

    began = time.monotonic()
    with StopRequest() as stop:
        loop.drain(stop)

    assert time.monotonic() - began < 60
    assert (fresh(row).status, fresh(row).max_attempts) == ("pending", 2)
    assert Attempt.objects.get().outcome == "released"
    assert not Heartbeat.objects.exists()
