"""Claim: which rows a worker starts, in which order, under which lease, with which definition."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from scheduler_app.models import Execution, Job, JobVersion, Lease, Pause
from scheduler_app.services.claiming import (
    cancel_rows_of_stopped_jobs,
    held_but_unknown,
    lowest_claimable_rank,
)
from scheduler_app.services.jobs import edit_job
from scheduler_app.services.scheduling import materialise_due
from tests.factories import NOW, at, make_execution, make_job, make_lease, make_worker
from tests.services.steps import claim, finish, fresh, pick, tick

pytestmark = pytest.mark.django_db


def pause(scope: str, value: str = "", **values: Any) -> Pause:
    return Pause.objects.create(scope=scope, value=value, who="admin", created_at=NOW, **values)


def ids(claimed: list[Any]) -> list[int]:
    return [each.row.id for each in claimed]


def test_a_claimed_row_is_running_under_a_token_and_a_lease_of_its_worker() -> None:
    row = make_execution(make_job())
    worker = make_worker("worker-a")

    [claimed] = claim(worker, now=at(2))

    row.refresh_from_db()
    assert (row.status, row.attempts, row.started_at, row.claim_at) == ("running", 1, at(2), None)
    assert row.claim_token == claimed.token
    lease = Lease.objects.get()
    assert (lease.execution_id, lease.job_id) == (row.id, row.job_id)
    assert (lease.worker, lease.worker_id) == (worker.incarnation, "worker-a")
    assert (lease.fence, lease.lease_expires_at) == (claimed.fence, claimed.lease_expires_at)
    assert lease.acquired_at == at(2)


def test_fences_grow_with_each_claim() -> None:
    job = make_job()
    for _ in range(3):
        make_execution(job)
    worker = make_worker()

    fences = [claim(worker, limit=1)[0].fence for _ in range(3)]

    assert fences == sorted(set(fences))


def test_each_claim_draws_a_new_token() -> None:
    row = make_execution(make_job(retry_backoff_seconds=0))
    worker = make_worker()
    [first] = claim(worker)
    finish(worker, first, "failed")
    [second] = claim(worker)

    assert (first.row.id, second.row.id) == (row.id, row.id)
    assert first.token != second.token


@pytest.mark.parametrize(
    ("timeout", "lease_seconds", "buffer", "expected"),
    [
        (300, 60, 30, 330),
        (10, 60, 30, 60),
        (30, 60, 30, 60),
        (31, 60, 30, 61),
        (5, 10, 2, 10),
        (600, 10, 2, 602),
    ],
)
def test_a_lease_lasts_as_long_as_its_setting_or_the_timeout_and_a_buffer(
    settings: Settings, timeout: int, lease_seconds: int, buffer: int, expected: int
) -> None:
    settings.SCHEDULER = dataclasses.replace(
        settings.SCHEDULER, lease_seconds=lease_seconds, lease_buffer_seconds=buffer
    )
    make_execution(make_job(timeout_seconds=timeout))

    [claimed] = claim(make_worker())

    assert claimed.lease_expires_at == NOW + timedelta(seconds=expected)
    assert Lease.objects.get().lease_expires_at == claimed.lease_expires_at


def test_nothing_starts_before_its_time() -> None:
    make_execution(make_job(), slot=at(1))

    assert claim(make_worker(), now=at(0.999)) == []
    assert len(claim(make_worker(), now=at(1))) == 1


def test_rows_start_in_the_order_in_which_they_became_due() -> None:
    job = make_job()
    rows = [make_execution(job, slot=at(-seconds)) for seconds in (10, 30, 20)]

    assert ids(claim(make_worker())) == [rows[1].id, rows[2].id, rows[0].id]


def test_rows_of_one_instant_start_in_the_order_they_were_made() -> None:
    job = make_job()
    rows = [make_execution(job).id for _ in range(5)]

    assert ids(claim(make_worker(), limit=3)) == rows[:3]


def test_a_step_of_priority_is_worth_a_minute_of_waiting() -> None:
    make_job(priority=0, name="plain", every="1h", anchor_at=at(-61))
    make_job(priority=1, name="urgent", every="1h", anchor_at=at(0))
    make_job(priority=-1, name="idle", every="1h", anchor_at=at(-119))
    for seconds in (-119, -61, 0):
        Job.objects.filter(name={-119: "idle", -61: "plain", 0: "urgent"}[seconds]).update(
            next_run_at=at(seconds)
        )
    materialise_due(now=NOW)

    assert [each.job_name for each in claim(make_worker())] == ["plain", "urgent", "idle"]


def test_the_limit_is_the_number_of_free_slots() -> None:
    job = make_job()
    for _ in range(5):
        make_execution(job)
    worker = make_worker()

    assert [len(claim(worker, limit=2)) for _ in range(4)] == [2, 2, 1, 0]
    assert claim(worker, limit=0) == []


def test_a_worker_with_queues_takes_from_them_alone() -> None:
    rows = {name: make_execution(make_job(queue=name)) for name in ("default", "reports", "mail")}
    worker = make_worker()

    assert ids(claim(worker, queues=("reports",))) == [rows["reports"].id]
    assert ids(claim(worker, queues=("reports", "mail"))) == [rows["mail"].id]
    assert ids(claim(worker)) == [rows["default"].id]


def test_a_lane_is_claimed_apart() -> None:
    row = make_execution(make_job(), lane="webhook")
    worker = make_worker()

    assert claim(worker) == []
    assert ids(claim(worker, lane="webhook")) == [row.id]


def test_a_task_the_worker_does_not_know_stays_for_another() -> None:
    make_execution(make_job(task="always_fail"))

    assert claim(make_worker(tasks=("always_succeed",))) == []
    assert claim(make_worker(tasks=())) == []
    assert len(claim(make_worker(tasks=("always_fail",)))) == 1


@pytest.mark.parametrize(
    ("scope", "value"), [("all", ""), ("queue", "reports"), ("job", "{id}"), ("label", "heavy")]
)
def test_a_pause_holds_claims_and_nothing_else(scope: str, value: str) -> None:
    job = make_job(queue="reports", labels=["heavy", "eu"])
    held = pause(scope, value.format(id=job.id))
    worker = make_worker()

    assert tick(NOW).rows == 1
    assert claim(worker) == []
    held.delete()
    assert len(claim(worker)) == 1


@pytest.mark.parametrize(("scope", "value"), [("queue", "mail"), ("job", "999999"), ("label", "light")])
def test_a_pause_of_something_else_holds_nothing(scope: str, value: str) -> None:
    make_execution(make_job(queue="reports", labels=["heavy"]))
    pause(scope, value)

    assert len(claim(make_worker())) == 1


def test_a_pause_ends_at_its_time() -> None:
    make_execution(make_job())
    pause("all", until=at(10))

    assert claim(make_worker(), now=at(9)) == []
    assert len(claim(make_worker(), now=at(10))) == 1


@pytest.mark.parametrize("scope", ["job", "label", "queue"])
def test_a_long_paused_line_does_not_hide_the_rows_behind_it(scope: str) -> None:
    paused = make_job(queue="slow", labels=["heavy"])
    for _ in range(30):
        make_execution(paused, slot=at(-60))
    other = make_execution(make_job(queue="default", labels=["light"]))
    pause(scope, {"job": str(paused.id), "label": "heavy", "queue": "slow"}[scope])

    assert ids(claim(make_worker(), limit=5)) == [other.id]


def test_a_pause_of_a_job_that_is_no_number_holds_nothing() -> None:
    make_execution(make_job())
    pause("job", "nightly")

    assert len(claim(make_worker())) == 1


def test_a_second_run_of_an_exclusive_job_is_refused_and_held_back() -> None:
    job = make_job(overlap_policy="skip")
    first, second = make_execution(job, slot=at(-2)), make_execution(job, slot=at(-1))
    worker = make_worker()

    result = pick(worker)

    assert (ids(result.claimed), result.picked) == ([first.id], 2)
    second.refresh_from_db()
    assert (second.status, second.held_back, second.claim_at) == ("pending", True, None)
    assert Lease.objects.count() == 1


def test_a_row_whose_job_is_held_elsewhere_is_held_back_and_not_looked_at_again() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "running", slot=at(-60))
    make_execution(job)
    worker = make_worker()

    assert pick(worker).picked == 1
    assert pick(worker).picked == 0


def test_a_due_retry_of_a_busy_job_is_held_back_and_keeps_its_status() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "running", slot=at(-60))
    retry = make_execution(job, "retry_scheduled", slot=at(-120), available_at=at(-1))

    assert claim(make_worker()) == []
    assert (fresh(retry).status, fresh(retry).held_back) == ("retry_scheduled", True)


def test_rows_that_allow_overlap_are_not_stopped_by_an_exclusive_run() -> None:
    job = make_job(overlap_policy="queue")
    make_execution(job, "running", slot=at(-60))
    row = make_execution(job, exclusive=False)

    assert ids(claim(make_worker())) == [row.id]


def test_a_run_uses_the_definition_it_was_made_under() -> None:
    job = make_job(task="sleep_for_seconds", config={"seconds": 1}, timeout_seconds=50, on_lost_worker="fail")
    tick(NOW)
    edit_job(
        job_id=job.id,
        values={
            "config": {"seconds": 2},
            "timeout_seconds": 40,
            "on_lost_worker": "retry",
            "alert_mode": "log_only",
            "retry_backoff_seconds": 7,
        },
        actor="admin",
        now=at(1),
    )
    tick(at(60))

    old, new = claim(make_worker(), now=at(60))

    assert (old.job_version, old.config, old.timeout_seconds) == (1, {"seconds": 1}, 50)
    assert (old.on_lost_worker, old.alert_mode, old.retry_rule.base_seconds) == ("fail", "web", 30)
    assert (new.job_version, new.config, new.timeout_seconds) == (2, {"seconds": 2}, 40)
    assert (new.on_lost_worker, new.alert_mode, new.retry_rule.base_seconds) == ("retry", "log_only", 7)


def test_the_lease_outlasts_the_longer_timeout_of_an_older_definition() -> None:
    job = make_job(timeout_seconds=4_000)
    tick(NOW)
    edit_job(job_id=job.id, values={"timeout_seconds": 10}, actor="admin", now=at(1))

    [claimed] = claim(make_worker(), now=at(2))

    assert (claimed.timeout_seconds, claimed.lease_expires_at) == (4_000, at(4_032))
    assert Lease.objects.get().lease_expires_at == at(4_032)


def test_rows_of_a_disabled_job_are_not_started_and_the_round_cancels_them() -> None:
    job = make_job()
    row = make_execution(job)
    Job.objects.filter(id=job.id).update(enabled=False)

    assert claim(make_worker()) == []
    assert cancel_rows_of_stopped_jobs(lane="task", now=at(3)) == 1

    row.refresh_from_db()
    assert (row.status, row.finished_at, row.attempts) == ("cancelled", at(3), 0)
    assert "disabled or deleted" in row.reason


def test_rows_of_a_deleted_job_are_cancelled_too_and_those_of_live_jobs_are_not() -> None:
    gone, live = make_job(), make_job()
    row, other = make_execution(gone), make_execution(live)
    Job.objects.filter(id=gone.id).update(deleted_at=NOW)

    assert cancel_rows_of_stopped_jobs(lane="task", now=NOW) == 1
    assert (fresh(row).status, fresh(other).status) == ("cancelled", "pending")


def test_a_claim_whose_answer_was_lost_is_found_again_and_only_by_its_worker() -> None:
    job = make_job()
    known, unknown = make_execution(job), make_execution(job)
    worker = make_worker("worker-a")
    claimed = claim(worker)
    other = make_worker("worker-b")
    make_execution(job, "running", holder=other)

    [found] = held_but_unknown(identity=worker, known=[known.id])

    assert found.row.id == unknown.id
    assert found == next(each for each in claimed if each.row.id == unknown.id)


def test_the_lowest_rank_is_that_of_the_first_claimable_row() -> None:
    assert lowest_claimable_rank(lane="task") is None
    job = make_job()
    make_execution(job, slot=at(5))
    make_execution(job, slot=at(2))
    make_execution(job, slot=at(-9), held_back=True)
    make_execution(job, "succeeded", slot=at(-90))

    assert lowest_claimable_rank(lane="task") == at(2)


def test_a_lease_left_over_from_another_run_stops_an_exclusive_claim() -> None:
    job = make_job(overlap_policy="skip")
    done = make_execution(job, "succeeded", slot=at(-600))
    make_lease(done, make_worker("worker-gone"))
    row = make_execution(job)

    assert claim(make_worker()) == []
    assert fresh(row).held_back
    assert Execution.objects.filter(status="running").count() == 0


@pytest.mark.parametrize(
    "columns", [{"config": [1]}, {"config": "x"}, {"timeout_seconds": 2_147_483_647}, {"labels": {}}], ids=str
)
def test_a_damaged_definition_does_not_stop_the_claim(columns: dict[str, Any]) -> None:
    damaged = make_job()
    Job.objects.filter(id=damaged.id).update(**columns)
    rows = [make_execution(damaged), make_execution(make_job())]

    assert ids(claim(make_worker())) == [row.id for row in rows]


def test_a_version_that_lacks_fields_takes_them_from_the_job() -> None:
    job = make_job(timeout_seconds=40)
    row = make_execution(job)
    edit_job(job_id=job.id, values={"timeout_seconds": 20}, actor="admin", now=NOW)
    JobVersion.objects.filter(version=1).update(after={"timeout_seconds": 45})

    [claimed] = claim(make_worker())

    assert (claimed.row.id, claimed.timeout_seconds, claimed.on_lost_worker) == (row.id, 45, "retry")


def test_an_incarnation_whose_sign_of_life_lapsed_claims_nothing() -> None:
    make_job()
    worker = make_worker()
    tick(NOW)

    assert pick(worker, now=at(45)).picked == 0
    assert Execution.objects.get().status == "pending"
    assert not Lease.objects.exists()

    assert len(pick(worker, now=at(44)).claimed) == 1
