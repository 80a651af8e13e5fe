"""Recover: whose rows are taken back, what becomes of them, and what their former holder can still do."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from scheduler_app.models import Alert, Attempt, DeadLetter, Event, Execution, Heartbeat, Job, Lease
from scheduler_app.services.claiming import Claimed
from scheduler_app.services.heartbeats import Identity, renew
from scheduler_app.services.jobs import edit_job
from scheduler_app.services.recovery import fail_unknown_tasks, recover_lost_leases
from tests.factories import NOW, at, make_execution, make_job, make_worker
from tests.services.steps import claim, finish, fresh

pytestmark = pytest.mark.django_db

ALIVE_SECONDS = 45
UNKNOWN_SECONDS = 600


def started(worker: Identity, **values: Any) -> Claimed:
    make_execution(make_job(**values))
    [claimed] = claim(worker)
    return claimed


def keep_alive(worker: Identity, until: float) -> None:
    """The worker goes on showing signs of life."""
    for seconds in range(0, int(until), 30):
        assert renew(identity=worker, now=at(seconds))
    assert renew(identity=worker, now=at(until))


def test_a_row_of_a_living_worker_within_its_lease_is_left_alone() -> None:
    claimed = started(make_worker())

    assert recover_lost_leases(now=at(ALIVE_SECONDS - 0.001)) == 0
    assert fresh(claimed).status == "running"


def test_a_row_of_a_silent_worker_is_taken_back_when_its_window_closes() -> None:
    claimed = started(make_worker("worker-a"))

    assert recover_lost_leases(now=at(ALIVE_SECONDS)) == 1

    row = fresh(claimed)
    assert (row.status, row.claim_token, row.claim_at) == ("retry_scheduled", None, at(ALIVE_SECONDS))
    assert "worker-a" in row.reason
    assert not Lease.objects.exists()


def test_a_row_whose_lease_ran_out_is_taken_back_although_its_worker_lives() -> None:
    worker = make_worker()
    claimed = started(worker, timeout_seconds=60)
    keep_alive(worker, until=90)

    assert recover_lost_leases(now=at(89.9)) == 0
    assert recover_lost_leases(now=at(90)) == 1
    assert "its lease ran out" in fresh(claimed).reason


def test_a_row_of_a_worker_that_signed_off_is_taken_back_at_once() -> None:
    worker = make_worker()
    started(worker)
    Heartbeat.objects.filter(incarnation=worker.incarnation).delete()

    assert recover_lost_leases(now=at(1)) == 1


def test_a_worker_of_the_same_name_does_not_keep_the_rows_of_its_forerunner() -> None:
    started(make_worker("worker-a"))
    make_worker("worker-a", now=at(44))

    assert recover_lost_leases(now=at(46)) == 1


def test_a_lost_attempt_counts_and_is_on_record() -> None:
    worker = make_worker("worker-a")
    claimed = started(worker)

    recover_lost_leases(now=at(60))

    tried = Attempt.objects.get()
    assert (tried.number, tried.outcome, tried.worker, tried.worker_id) == (
        1,
        "lost",
        worker.incarnation,
        "worker-a",
    )
    assert (tried.started_at, tried.finished_at, tried.fence) == (NOW, at(60), claimed.fence)
    assert "unknown" in tried.error
    assert fresh(claimed).attempts == 1
    event = Event.objects.get(action="execution.recovered")
    assert (event.object_id, event.actor) == (claimed.row.id, "system:scheduler")


def test_each_lost_attempt_is_taken_back_once() -> None:
    started(make_worker())

    assert [recover_lost_leases(now=at(60 + number)) for number in range(3)] == [1, 0, 0]
    assert Attempt.objects.count() == 1


def test_a_late_report_of_the_lost_attempt_changes_nothing() -> None:
    old, new = make_worker("worker-a"), make_worker("worker-b", now=at(60))
    late = started(old)
    recover_lost_leases(now=at(60))
    [current] = claim(new, now=at(61))

    assert len(finish(old, late, "succeeded", now=at(62))) == 1

    row = fresh(late)
    assert (row.status, row.attempts, row.claim_token) == ("running", 2, current.token)
    finish(new, current, "succeeded", now=at(63))
    assert list(Attempt.objects.order_by("number").values_list("number", "outcome", "worker_id")) == [
        (1, "lost", "worker-a"),
        (2, "succeeded", "worker-b"),
    ]


def test_a_report_that_comes_before_recovery_wins() -> None:
    worker = make_worker()
    claimed = started(worker)
    finish(worker, claimed, "succeeded", now=at(59))

    assert recover_lost_leases(now=at(60)) == 0
    assert fresh(claimed).status == "succeeded"


def test_a_loss_on_the_last_attempt_is_dead_lettered_with_letter_and_alert() -> None:
    claimed = started(make_worker(), max_attempts=1)

    recover_lost_leases(now=at(60))

    row = fresh(claimed)
    assert (row.status, row.finished_at) == ("dead_lettered", at(60))
    assert DeadLetter.objects.get().execution_id == row.id
    assert Alert.objects.get().kind == "execution_dead_lettered"


def test_a_job_that_must_not_repeat_a_cut_run_is_dead_lettered_at_the_first_loss() -> None:
    claimed = started(make_worker(), max_attempts=5, on_lost_worker="fail")

    recover_lost_leases(now=at(60))

    row = fresh(claimed)
    assert (row.status, row.attempts) == ("dead_lettered", 1)
    assert "not to repeat" in row.reason
    assert DeadLetter.objects.count() == 1


@pytest.mark.parametrize(
    ("made_under", "edited_to", "status"),
    [
        ("fail", "retry", "dead_lettered"),
        ("retry", "fail", "retry_scheduled"),
    ],
)
def test_a_run_is_judged_by_the_definition_it_was_made_under(
    made_under: str, edited_to: str, status: str
) -> None:
    claimed = started(make_worker(), on_lost_worker=made_under)
    edit_job(job_id=claimed.row.job_id, values={"on_lost_worker": edited_to}, actor="admin", now=at(1))

    recover_lost_leases(now=at(60))

    assert fresh(claimed).status == status


def test_a_claim_lost_before_its_start_goes_back_and_is_no_attempt() -> None:
    row = make_execution(make_job(), "claimed")

    assert recover_lost_leases(now=at(1)) == 1

    row.refresh_from_db()
    assert (row.status, row.attempts, row.losses, row.claim_at) == ("pending", 0, 1, at(1))
    assert not Attempt.objects.exists()
    assert not Lease.objects.exists()


def test_the_fifth_lost_claim_is_the_last() -> None:
    row = make_execution(make_job(), "claimed", losses=4)

    recover_lost_leases(now=at(1))

    row.refresh_from_db()
    assert (row.status, row.losses) == ("dead_lettered", 5)
    assert DeadLetter.objects.get().execution_id == row.id


def test_a_recovered_job_goes_on_with_its_own_row_before_the_line() -> None:
    job = make_job(overlap_policy="queue")
    row = make_execution(job, "running", slot=at(-120))
    behind = make_execution(job, slot=at(-60), held_back=True)

    recover_lost_leases(now=NOW)

    assert fresh(behind).held_back
    assert [each.row.id for each in claim(make_worker())] == [row.id]


def test_an_abandoned_row_lets_the_next_in_line_start() -> None:
    job = make_job(overlap_policy="queue", on_lost_worker="fail")
    make_execution(job, "running", slot=at(-120))
    behind = make_execution(job, slot=at(-60), held_back=True)

    recover_lost_leases(now=NOW)

    assert [each.row.id for each in claim(make_worker())] == [behind.id]


def test_a_batch_has_a_limit_and_the_next_call_goes_on() -> None:
    job = make_job()
    for _ in range(5):
        make_execution(job, "running", slot=at(-500))

    assert [recover_lost_leases(now=NOW, limit=2) for _ in range(4)] == [2, 2, 1, 0]


def test_many_losses_of_one_job_fold_into_one_alert() -> None:
    job = make_job(on_lost_worker="fail")
    for _ in range(4):
        make_execution(job, "running", slot=at(-500))

    recover_lost_leases(now=NOW)

    assert Alert.objects.get().count == 4
    assert DeadLetter.objects.count() == 4


def unknown_row(**values: Any) -> Execution:
    job = make_job(**values)
    Job.objects.filter(id=job.id).update(task="gone_task")
    job.refresh_from_db()
    return make_execution(job)


def test_a_task_no_worker_has_known_for_long_fails_with_a_way_out() -> None:
    worker = make_worker()
    row = unknown_row()
    keep_alive(worker, until=UNKNOWN_SECONDS)

    assert fail_unknown_tasks(now=at(UNKNOWN_SECONDS)) == 1

    row.refresh_from_db()
    assert (row.status, row.attempts) == ("failed", 0)
    assert row.reason.startswith("unknown_task: no live worker has known 'gone_task' for 600 s")
    assert DeadLetter.objects.get().execution_id == row.id
    assert Alert.objects.get().execution_id == row.id


def test_a_task_is_given_its_time() -> None:
    worker = make_worker()
    row = unknown_row()
    keep_alive(worker, until=UNKNOWN_SECONDS)

    assert fail_unknown_tasks(now=at(UNKNOWN_SECONDS - 1)) == 0
    assert fresh(row).status == "pending"


def test_no_worker_or_only_fresh_ones_are_no_evidence() -> None:
    row = unknown_row()
    late = at(UNKNOWN_SECONDS + 100)
    assert fail_unknown_tasks(now=late) == 0

    make_worker(now=late)

    assert fail_unknown_tasks(now=late + timedelta(seconds=10)) == 0
    assert fresh(row).status == "pending"


def test_one_worker_that_knows_the_task_is_enough_to_wait() -> None:
    worker = make_worker()
    row = unknown_row()
    keep_alive(worker, until=UNKNOWN_SECONDS)
    make_worker("worker-b", tasks=("gone_task",), now=at(UNKNOWN_SECONDS))

    assert fail_unknown_tasks(now=at(UNKNOWN_SECONDS)) == 0
    assert fresh(row).status == "pending"


def test_the_patience_is_a_setting(settings: Settings) -> None:
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, unknown_task_seconds=4)
    make_worker()
    unknown_row()

    assert fail_unknown_tasks(now=at(4)) == 1
