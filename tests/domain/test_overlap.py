"""What becomes of slots whose predecessors are not finished, per policy and per state of the job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scheduler_app.domain.overlap import OverlapState, SlotDecision, decide_overlap

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
FREE = OverlapState()
BUSY = OverlapState(active=True, line_taken=True, waiting=1)


def slots(count: int) -> list[datetime]:
    return [NOON + timedelta(minutes=number) for number in range(count)]


def decide(
    count: int, policy: str, state: OverlapState = FREE, queue_limit: int = 1_000
) -> list[SlotDecision]:
    return decide_overlap(slots(count), policy=policy, queue_limit=queue_limit, state=state)


def shape(decisions: list[SlotDecision]) -> list[str]:
    return [
        "missed" if decision.missed_reason else "held back" if decision.held_back else "runs"
        for decision in decisions
    ]


@pytest.mark.parametrize("policy", ["skip", "queue", "allow"])
def test_a_lone_slot_of_a_free_job_runs(policy: str) -> None:
    assert shape(decide(1, policy)) == ["runs"]


@pytest.mark.parametrize(("policy", "fate"), [("skip", "missed"), ("queue", "held back"), ("allow", "runs")])
def test_a_slot_of_a_busy_job_meets_the_fate_of_its_policy(policy: str, fate: str) -> None:
    assert shape(decide(1, policy, BUSY)) == [fate]


def test_the_first_of_several_slots_is_an_earlier_run_for_the_second() -> None:
    assert shape(decide(3, "skip")) == ["runs", "missed", "missed"]
    assert shape(decide(3, "queue")) == ["runs", "held back", "held back"]
    assert shape(decide(3, "allow")) == ["runs", "runs", "runs"]


def test_decisions_keep_the_order_of_the_slots() -> None:
    for policy in ("skip", "queue", "allow"):
        assert [decision.slot for decision in decide(5, policy, BUSY)] == slots(5)


def test_the_line_is_as_long_as_the_queue_limit() -> None:
    assert shape(decide(4, "queue", queue_limit=2)) == ["runs", "held back", "missed", "missed"]


def test_a_line_that_is_full_already_takes_nobody() -> None:
    full = OverlapState(active=True, line_taken=True, waiting=5)

    assert shape(decide(2, "queue", full, queue_limit=5)) == ["missed", "missed"]


def test_one_place_in_the_line_goes_to_the_older_slot() -> None:
    nearly = OverlapState(active=True, line_taken=True, waiting=4)

    assert shape(decide(2, "queue", nearly, queue_limit=5)) == ["held back", "missed"]


def test_a_run_in_flight_is_not_in_the_line() -> None:
    in_flight = OverlapState(active=True, line_taken=True, waiting=0)

    assert shape(decide(2, "queue", in_flight, queue_limit=1)) == ["held back", "missed"]


def test_the_queue_limit_means_nothing_to_the_other_policies() -> None:
    full = OverlapState(active=False, line_taken=False, waiting=9)

    assert shape(decide(1, "skip", full, queue_limit=1)) == ["runs"]
    assert shape(decide(1, "allow", full, queue_limit=1)) == ["runs"]


def test_a_missed_slot_says_why() -> None:
    assert decide(1, "skip", BUSY)[0].missed_reason.startswith("overlap")
    full = OverlapState(active=True, line_taken=True, waiting=7)
    reason = decide(1, "queue", full, queue_limit=7)[0].missed_reason
    assert "queue full" in reason
    assert "7" in reason


def test_no_slots_give_no_decisions() -> None:
    assert decide(0, "queue", BUSY) == []
