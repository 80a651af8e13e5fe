"""Each pair of states is legal exactly when this list, written down a second time, says so."""

from __future__ import annotations

import itertools

import pytest

from scheduler_app.domain.states import (
    CANCELLABLE,
    HELD,
    NEW,
    RETRYABLE_BY_OPERATOR,
    TERMINAL,
    TRANSITIONS,
    WAITING,
    Status,
    is_legal,
)

ARROWS = {
    NEW: {"pending", "missed"},
    "pending": {"running", "claimed", "failed", "cancelled"},
    "retry_scheduled": {"running", "claimed", "cancelled", "failed"},
    "claimed": {"running", "cancelled", "pending", "dead_lettered"},
    "running": {
        "succeeded",
        "retry_scheduled",
        "failed",
        "timed_out",
        "pending",
        "cancelled",
        "dead_lettered",
    },
}
PAIRS = list(itertools.product([NEW, *Status], Status))


@pytest.mark.parametrize(("origin", "target"), PAIRS, ids=lambda state: str(state))
def test_a_pair_of_states_is_legal_exactly_when_the_table_draws_the_arrow(origin: str, target: str) -> None:
    assert is_legal(origin, target) is (target in ARROWS.get(origin, set()))


def test_nothing_goes_back_to_new() -> None:
    assert not any(is_legal(origin, NEW) for origin in [NEW, *Status])


def test_no_arrow_is_drawn_twice_and_each_has_a_verb() -> None:
    pairs = [(origin, target) for origin, target, _ in TRANSITIONS]

    assert len(pairs) == len(set(pairs))
    assert all(verb for _, _, verb in TRANSITIONS)


def test_each_status_is_waiting_held_or_terminal_and_only_one_of_them() -> None:
    assert set(Status) == WAITING | HELD | TERMINAL
    assert len(WAITING) + len(HELD) + len(TERMINAL) == len(Status)


def test_a_terminal_state_is_never_left() -> None:
    assert not [origin for origin, _, _ in TRANSITIONS if origin in TERMINAL]


def test_each_state_that_is_not_terminal_can_reach_an_end() -> None:
    for start in Status:
        reached, frontier = {start}, [start]
        while frontier:
            here = frontier.pop()
            for target in Status:
                if is_legal(here, target) and target not in reached:
                    reached.add(target)
                    frontier.append(target)
        assert reached & TERMINAL, start


def test_a_cancel_reaches_what_has_not_started_and_nothing_else() -> None:
    assert {"pending", "retry_scheduled", "claimed"} == CANCELLABLE
    assert all(is_legal(status, Status.CANCELLED) for status in CANCELLABLE)


def test_a_person_may_retry_what_ended_badly() -> None:
    assert {"failed", "timed_out", "dead_lettered", "cancelled"} == RETRYABLE_BY_OPERATOR
