"""Many workers on one backlog: each row once, no deadlock, exclusive jobs one run at a time, in order."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import Count

from scheduler_app.domain.verdict import Ending
from scheduler_app.errors import Conflict
from scheduler_app.models import Alert, Attempt, Execution, Job, Lease
from scheduler_app.services.completion import FinishedAttempt, complete_attempts
from scheduler_app.services.dispatcher import Dispatcher
from scheduler_app.services.executions import cancel_execution, create_manual_execution
from scheduler_app.services.heartbeats import Identity
from scheduler_app.services.jobs import disable_job, enable_job
from scheduler_app.services.recovery import recover_lost_leases
from scheduler_app.services.transactions import daemon_transaction, execute
from scheduler_app.services.turns import promote_stranded
from tests.concurrency.actors import actors, deadlocks
from tests.factories import NOW, at, make_execution, make_job, make_worker
from tests.services.steps import attempt, claim, tick

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


def dispatcher(worker: Identity) -> Dispatcher:
    return Dispatcher(identity=worker, lane="task", tasks=worker.tasks)


def jobs_held_twice() -> list[int]:
    """Jobs of which two exclusive runs are held at this moment."""
    held = Lease.objects.filter(exclusive=True).values("job_id").annotate(leases=Count("execution_id"))
    return list(held.filter(leases__gt=1).values_list("job_id", flat=True))


def work_until(
    worker: Identity,
    done: Callable[[], bool],
    *,
    slots: int = 4,
    outcome: Callable[[], str] = lambda: "succeeded",
    rounds: int = 3_000,
) -> list[int]:
    """Rounds of a worker whose attempts end at once, until `done`; ids it started, in order."""
    dispatch, finished, started = dispatcher(worker), list[FinishedAttempt](), list[int]()
    for _ in range(rounds):
        assert jobs_held_twice() == []
        answer = dispatch.round(finished=finished, free_slots=slots, now=NOW)
        assert answer.lost == []
        started += [each.row.id for each in answer.started]
        finished = [attempt(each, outcome()) for each in answer.started]
        if not answer.started and not answer.more:
            promote_stranded(now=NOW)
            if done():
                return started
    raise AssertionError(f"not done after {rounds} rounds")


def nothing_waits() -> bool:
    return not Execution.objects.filter(status__in=["pending", "running", "retry_scheduled"]).exists()


def test_eight_workers_run_each_row_of_a_backlog_once() -> None:
    job = make_job()
    rows = {make_execution(job, slot=at(-number)).id for number in range(400)}
    workers = [make_worker(f"worker-{number}") for number in range(8)]

    with actors() as stage:
        started = stage.together(
            *[lambda worker=worker: work_until(worker, nothing_waits) for worker in workers]
        )

    everything = [execution for each in started for execution in each]
    assert sorted(everything) == sorted(rows)
    assert set(Execution.objects.values_list("status", "attempts")) == {("succeeded", 1)}
    assert Attempt.objects.count() == 400
    assert not Lease.objects.exists()


def test_two_workers_never_hold_one_exclusive_job_together() -> None:
    jobs = [make_job(overlap_policy="skip") for _ in range(5)]
    for number in range(100):
        make_execution(jobs[number % 5], slot=at(-number))
    workers = [make_worker(f"worker-{number}") for number in range(6)]

    with actors() as stage:
        stage.together(*[lambda worker=worker: work_until(worker, nothing_waits) for worker in workers])

    assert set(Execution.objects.values_list("status", "attempts")) == {("succeeded", 1)}
    for job in jobs:
        assert Attempt.objects.filter(execution__job=job).count() == 20


def test_workers_schedulers_and_operators_on_exclusive_jobs_meet_no_deadlock() -> None:
    before = deadlocks()
    jobs = [
        make_job(
            overlap_policy=("skip", "queue")[number % 2],
            every="1s",
            created_at=at(-1),
            max_attempts=2,
            retry_backoff_seconds=0,
            misfire_policy="catch_up",
        )
        for number in range(12)
    ]
    workers = [make_worker(f"worker-{number}") for number in range(8)]
    rounds = 40

    def work(worker: Identity, seed: int) -> None:
        chance, dispatch, finished = random.Random(seed), dispatcher(worker), list[FinishedAttempt]()
        for number in range(rounds * 2):
            answer = dispatch.round(finished=finished, free_slots=6, now=at(number / 2))
            finished = [attempt(each, chance.choice(["succeeded", "failed"])) for each in answer.started]
            chance.shuffle(finished)
        dispatch.round(finished=finished, free_slots=0, now=at(rounds))

    def schedule() -> None:
        for number in range(rounds):
            tick(at(number))
            promote_stranded(now=at(number))
            recover_lost_leases(now=at(number))

    def operate() -> None:
        chance = random.Random(7)
        for number in range(rounds):
            job = chance.choice(jobs)
            waiting = Execution.objects.filter(status="pending").order_by("?").first()
            try:
                create_manual_execution(job_id=job.id, actor="admin", now=at(number))
                if waiting is not None:
                    cancel_execution(execution_id=waiting.id, actor="admin", now=at(number))
            except Conflict:
                continue
            finally:
                disable_job(job_id=job.id, actor="admin", now=at(number))
                enable_job(job_id=job.id, actor="admin", now=at(number))

    with actors() as stage:
        crowd = [lambda worker=worker, seed=seed: work(worker, seed) for seed, worker in enumerate(workers)]
        stage.together(*crowd, schedule, schedule, operate)

    assert deadlocks() == before
    assert not Lease.objects.exists()
    assert not Execution.objects.filter(status="running").exists()
    assert Execution.objects.filter(status="succeeded").exists()
    assert Alert.objects.filter(count__gt=1).exists()


def test_a_long_line_of_one_job_starves_no_other_and_starts_in_slot_order() -> None:
    queue = make_job(overlap_policy="queue", queue_limit=10_000)
    first = make_execution(queue, slot=at(-10_000))
    plain = {
        field.attname: getattr(first, field.attname)
        for field in Execution._meta.concrete_fields
        if field.attname not in {"id", "retry_of_id"}
    }
    line = []
    for number in range(1, 4_000):
        slot = at(-10_000 + number)
        own = {
            "scheduled_for": slot,
            "available_at": slot,
            "rank_at": slot,
            "claim_at": None,
            "held_back": True,
        }
        line.append(Execution(**{**plain, **own}))
    Execution.objects.bulk_create(line, batch_size=500)
    others = {make_execution(make_job(), slot=NOW - timedelta(seconds=1)).id for _ in range(50)}
    workers = [make_worker(f"worker-{number}") for number in range(4)]

    def others_are_over() -> bool:
        return not Execution.objects.filter(id__in=others).exclude(status="succeeded").exists()

    def work(worker: Identity) -> int:
        dispatch, finished = dispatcher(worker), list[FinishedAttempt]()
        for number in range(500):
            answer = dispatch.round(finished=finished, free_slots=4, now=NOW)
            finished = [attempt(each) for each in answer.started]
            if others_are_over():
                dispatch.round(finished=finished, free_slots=0, now=NOW)
                return number
        raise AssertionError("the other jobs did not get their turn in 500 rounds")

    with actors() as stage:
        rounds = stage.together(*[lambda worker=worker: work(worker) for worker in workers])

    of_queue = Attempt.objects.filter(execution__job=queue).order_by("fence")
    started = list(of_queue.values_list("execution__scheduled_for", flat=True))
    assert max(rounds) <= 50
    assert len(started) >= 2
    assert started == [at(-10_000 + number) for number in range(len(started))]


def test_a_promotion_cannot_see_a_row_in_the_making_and_the_tick_makes_up_for_it() -> None:
    job = make_job(overlap_policy="queue")
    worker = make_worker()
    make_execution(job, slot=at(-60))
    dispatch = dispatcher(worker)
    [held] = dispatch.round(finished=[], free_slots=1, now=NOW).started

    with actors() as stage, transaction.atomic():
        assert tick(NOW).rows == 1
        stage.together(lambda: dispatch.round(finished=[attempt(held)], free_slots=0, now=NOW))

    row = Execution.objects.get(trigger="schedule")
    assert row.held_back
    assert promote_stranded(now=NOW) == [row.id]
    assert Job.objects.get(id=job.id).next_run_at == at(60)


def test_claims_that_want_the_same_jobs_in_crossed_orders_meet_no_deadlock() -> None:
    """Rows of one job are due at all ranks; what a claim holds back is put into the line again at once."""
    before = deadlocks()
    chance = random.Random(11)
    for _ in range(8):
        job = make_job(overlap_policy="skip")
        for _ in range(24):
            make_execution(job, slot=at(-chance.randint(1, 10_000)))
    workers = [make_worker(f"worker-{number}") for number in range(8)]

    def put_into_the_line() -> None:
        execute(
            "UPDATE scheduler_app_execution SET held_back = false, claim_at = available_at WHERE id IN"
            " (SELECT id FROM scheduler_app_execution WHERE held_back ORDER BY id FOR UPDATE SKIP LOCKED)",
            [],
        )

    def work(worker: Identity) -> int:
        taken = 0
        for _ in range(40):
            claimed = claim(worker, limit=16)
            taken += len(claimed)
            with daemon_transaction():
                ends = [attempt(each, Ending("released")) for each in claimed]
                assert complete_attempts(ends, identity=worker, now=NOW) == []
            put_into_the_line()
        return taken

    with actors() as stage:
        taken = stage.together(*[lambda worker=worker: work(worker) for worker in workers])

    assert deadlocks() == before
    assert sum(taken) > 40
