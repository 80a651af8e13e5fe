"""The one writer of a status, its guard, and the constraints that refuse whoever writes past it."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from scheduler_app.domain.states import TERMINAL, Status, is_legal
from scheduler_app.models import Attempt, DeadLetter, Execution, Job, Lease
from scheduler_app.services.transitions import (
    Change,
    apply,
    ended,
    hold_back,
    lock_rows,
    rank_of,
    row_state,
    running,
    unfinished_ids,
    waiting,
)
from tests.factories import NOW, at, make_execution, make_job
from tests.services.steps import fresh

pytestmark = pytest.mark.django_db

STATES = list(Status)


def change_to(row: Execution, target: Status) -> Change:
    """The change of a row to a status, legal or not, with whatever that status demands."""
    before = row_state(row)
    if target == Status.RUNNING:
        return running(before, token=uuid.uuid4(), now=NOW)
    if target == Status.CLAIMED:
        after = dataclasses.replace(before, status="claimed", claim_token=uuid.uuid4(), claim_at=None)
        return Change(before, after)
    if target in TERMINAL:
        return ended(before, status=target, reason="", now=NOW)
    return waiting(before, status=target, available_at=NOW, reason="")


@pytest.mark.parametrize("target", STATES)
@pytest.mark.parametrize("origin", STATES)
def test_each_legal_arrow_can_be_drawn_and_no_other(origin: Status, target: Status) -> None:
    row = make_execution(make_job(), origin)
    change = change_to(row, target)

    if is_legal(origin, target):
        assert apply([change]) == {row.id}
        assert fresh(row).status == target
    else:
        with pytest.raises(ValueError, match=f"cannot go from {origin} to {target}"):
            apply([change])
        assert fresh(row).status == origin


def test_one_illegal_arrow_stops_the_whole_batch_before_it_is_written() -> None:
    job = make_job()
    good, bad = make_execution(job), make_execution(job, "succeeded")

    with pytest.raises(ValueError, match="cannot go"):
        apply([change_to(good, Status.RUNNING), change_to(bad, Status.PENDING)])

    assert fresh(good).status == "pending"


@pytest.mark.parametrize(
    "meanwhile", [{"claim_token": uuid.UUID(int=1)}, {"status": "claimed"}], ids=["token", "status"]
)
def test_a_row_that_moved_since_it_was_read_is_left_alone(meanwhile: dict[str, Any]) -> None:
    row = make_execution(make_job(), "running")
    change = ended(row_state(row), status=Status.SUCCEEDED, reason="", now=NOW)
    Execution.objects.filter(id=row.id).update(**meanwhile)

    assert apply([change]) == set()
    assert fresh(row).status != "succeeded"


def test_a_batch_changes_the_rows_whose_guard_holds_and_names_them() -> None:
    job = make_job()
    rows = [make_execution(job, "running") for _ in range(3)]
    changes = [ended(row_state(row), status=Status.SUCCEEDED, reason="", now=NOW) for row in rows]
    Execution.objects.filter(id=rows[1].id).update(claim_token=uuid.uuid4())

    assert apply(changes[::-1]) == {rows[0].id, rows[2].id}
    assert apply([]) == set()


def test_locked_rows_are_what_the_database_has_now() -> None:
    job = make_job()
    rows = [make_execution(job) for _ in range(2)]
    Execution.objects.filter(id=rows[0].id).update(reason="new")

    with transaction.atomic():
        locked = lock_rows([rows[1].id, rows[0].id, 424_242])

    assert list(locked) == [rows[0].id, rows[1].id]
    assert locked[rows[0].id].reason == "new"
    assert lock_rows([]) == {}


def test_unfinished_rows_are_those_that_wait_or_are_held() -> None:
    job = make_job()
    for status in TERMINAL:
        make_execution(job, status)
    wanted = [
        make_execution(job, status).id for status in ("pending", "retry_scheduled", "claimed", "running")
    ]
    wanted.append(make_execution(job, held_back=True).id)
    make_execution(make_job())

    assert unfinished_ids(job.id) == sorted(wanted)


def test_a_row_given_back_keeps_its_priority() -> None:
    row = make_execution(make_job(), "running", rank_at=at(-180))

    change = waiting(row_state(row), status=Status.RETRY_SCHEDULED, available_at=at(60), reason="")

    assert change.after.rank_at == at(60) - timedelta(minutes=3)
    assert rank_of(NOW, 3) == at(-180)
    assert rank_of(NOW, -2) == at(120)


def test_waiting_and_ended_refuse_statuses_that_are_not_theirs() -> None:
    row = row_state(make_execution(make_job(), "running"))

    with pytest.raises(ValueError, match="not a waiting status"):
        waiting(row, status=Status.RUNNING, available_at=NOW, reason="")
    with pytest.raises(ValueError, match="not a terminal status"):
        ended(row, status=Status.PENDING, reason="", now=NOW)


def test_holding_back_takes_claimable_rows_out_of_the_line_and_nothing_else() -> None:
    job = make_job()
    rows = [make_execution(job, status) for status in ("pending", "retry_scheduled", "running", "succeeded")]

    hold_back([row.id for row in rows])
    hold_back([])

    assert [fresh(row).held_back for row in rows] == [True, True, False, False]
    assert [fresh(row).status for row in rows] == ["pending", "retry_scheduled", "running", "succeeded"]


NOT_NULL = uuid.UUID(int=9)
BY_FORCE: list[tuple[str, dict[str, Any], str]] = [
    ("pending", {"status": "sleeping", "claim_at": None}, "execution_status_is_known"),
    ("pending", {"status": "running"}, "execution_c"),
    ("pending", {"claim_at": None}, "execution_claim_at_iff_waiting"),
    ("pending", {"held_back": True}, "execution_claim_at_iff_waiting"),
    ("pending", {"claim_token": NOT_NULL}, "execution_claim_token_iff_held"),
    ("pending", {"finished_at": NOW}, "execution_finished_at_iff_terminal"),
    ("running", {"claim_at": NOW}, "execution_claim_at_iff_waiting"),
    ("running", {"claim_token": None}, "execution_claim_token_iff_held"),
    ("running", {"held_back": True}, "execution_held_back_only_while_waiting"),
    ("running", {"status": "succeeded"}, "execution_"),
    ("claimed", {"claim_token": None}, "execution_claim_token_iff_held"),
    ("succeeded", {"finished_at": None}, "execution_finished_at_iff_terminal"),
    ("succeeded", {"claim_at": NOW}, "execution_claim_at_iff_waiting"),
    ("succeeded", {"claim_token": NOT_NULL}, "execution_claim_token_iff_held"),
    ("missed", {"status": "pending"}, "execution_"),
    ("pending", {"max_attempts": 0}, "execution_max_attempts_at_least_1"),
    ("pending", {"trigger": "whim"}, "execution_trigger_is_known"),
    ("pending", {"lane": "fast"}, "execution_lane_is_known"),
]


@pytest.mark.parametrize(("status", "columns", "constraint"), BY_FORCE, ids=str)
def test_the_database_refuses_a_row_that_contradicts_itself(
    status: str, columns: dict[str, Any], constraint: str
) -> None:
    row = make_execution(make_job(), status)

    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Execution.objects.filter(id=row.id).update(**columns)


def test_a_slot_has_one_row_a_trigger_and_is_a_whole_second() -> None:
    job = make_job()
    make_execution(job, trigger="schedule")
    make_execution(job, trigger="backfill")
    make_execution(job, trigger="manual")
    make_execution(job, trigger="manual", slot=at(0.5))

    for trigger, slot in (("schedule", NOW), ("backfill", NOW), ("schedule", at(0.5))):
        with pytest.raises(IntegrityError), transaction.atomic():
            make_execution(job, trigger=trigger, slot=slot)


def test_an_execution_is_retried_once() -> None:
    job = make_job()
    original = make_execution(job, "failed")
    make_execution(job, trigger="retry", retry_of=original)

    with pytest.raises(IntegrityError), transaction.atomic():
        make_execution(job, trigger="retry", retry_of=original)


def test_an_exclusive_job_has_one_lease() -> None:
    job = make_job(overlap_policy="skip")
    make_execution(job, "running")
    make_execution(job, "running", exclusive=False)

    with pytest.raises(IntegrityError), transaction.atomic():
        make_execution(job, "running")
    assert Lease.objects.count() == 2


def test_a_lease_does_not_end_before_it_begins() -> None:
    row = make_execution(make_job(), "running")

    with pytest.raises(IntegrityError, match="lease_ends_after_it_begins"), transaction.atomic():
        Lease.objects.filter(execution=row).update(lease_expires_at=NOW)


def test_attempt_numbers_and_dead_letters_are_used_once() -> None:
    row = make_execution(make_job(), "failed")
    values = {"execution": row, "number": 1, "outcome": "failed", "started_at": NOW, "finished_at": NOW}
    Attempt.objects.create(**values)
    DeadLetter.objects.create(execution=row, job=row.job, created_at=NOW)

    for refused in ({}, {"number": 0}, {"number": 2, "outcome": "vanished"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Attempt.objects.create(**{**values, **refused})
    with pytest.raises(IntegrityError), transaction.atomic():
        DeadLetter.objects.create(execution=row, job=row.job, created_at=NOW)


@pytest.mark.parametrize(
    "columns",
    [
        {"name": ""},
        {"schedule_type": "weekly"},
        {"overlap_policy": "maybe"},
        {"misfire_policy": "maybe"},
        {"max_attempts": 0},
        {"timeout_seconds": 0},
        {"queue_limit": 0},
        {"alert_mode": "pager"},
    ],
    ids=str,
)
def test_the_database_refuses_a_job_no_door_would_let_in(columns: dict[str, Any]) -> None:
    job = make_job()

    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(id=job.id).update(**columns)
