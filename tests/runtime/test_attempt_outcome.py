"""How an attempt is judged: what nobody saw is not success, what happened before a kill stays."""

from __future__ import annotations

import signal
from collections.abc import Mapping

import pytest

from scheduler_app.runtime.attempt_outcome import ProcessEnd, judge, signal_name
from scheduler_app.runtime.attempt_spec import AttemptSpec, Outcome

SPEC = AttemptSpec("k", "t", {}, {}, timeout_seconds=10, deadline_monotonic=130)
OK = {"ok": True, "result": None}


def exited(code: int) -> int:
    return code << 8


def end(
    wait_status: int,
    record: Mapping[str, object] | None = None,
    kill_reason: Outcome | None = None,
    ended: float = 101,
) -> ProcessEnd:
    return ProcessEnd(wait_status, record, kill_reason, started_monotonic=100, ended_monotonic=ended)


def test_success_needs_the_record_and_exit_status_zero() -> None:
    assert judge(SPEC, end(exited(0), OK)).outcome == "succeeded"
    assert judge(SPEC, end(exited(0))).outcome == "failed"
    assert judge(SPEC, end(exited(3), OK)).outcome == "failed"
    assert judge(SPEC, end(signal.SIGSEGV, OK)).outcome == "failed"


@pytest.mark.parametrize("reason", ["timed_out", "terminated", "expired"])
def test_a_kill_that_came_too_late_does_not_undo_a_success(reason: Outcome) -> None:
    assert judge(SPEC, end(exited(0), OK, reason)).outcome == "succeeded"


@pytest.mark.parametrize("reason", ["timed_out", "terminated", "expired"])
def test_a_killed_process_ends_for_the_reason_it_was_killed_for(reason: Outcome) -> None:
    judgement = judge(SPEC, end(signal.SIGKILL, None, reason))

    assert judgement.outcome == reason and judgement.failure


def test_death_by_its_own_alarm_is_the_timeout_or_the_lease_whichever_was_first() -> None:
    short_lease = AttemptSpec("k", "t", {}, {}, timeout_seconds=10, deadline_monotonic=105)

    assert judge(SPEC, end(signal.SIGALRM, ended=112)).outcome == "timed_out"
    assert judge(SPEC, end(signal.SIGKILL, ended=112)).outcome == "timed_out"
    assert judge(short_lease, end(signal.SIGALRM, ended=105)).outcome == "expired"


def test_a_kill_before_any_deadline_came_from_elsewhere() -> None:
    judgement = judge(SPEC, end(signal.SIGKILL))

    assert judgement.outcome == "failed"
    assert "SIGKILL" in judgement.failure and "out of memory" in judgement.failure


def test_a_reported_failure_keeps_its_text_and_a_strange_end_is_added() -> None:
    plain = judge(SPEC, end(exited(1), {"ok": False, "error": "boom"}))
    strange = judge(SPEC, end(signal.SIGSEGV, {"ok": False, "error": "boom"}))

    assert (plain.outcome, plain.failure) == ("failed", "boom")
    assert strange.failure == "boom\n(Its process then ended with SIGSEGV.)"


def test_non_retryable_is_an_outcome_of_its_own() -> None:
    record = {"ok": False, "error": "no", "non_retryable": True}

    assert judge(SPEC, end(exited(1), record)).outcome == "non_retryable"


def test_signals_have_names() -> None:
    assert signal_name(signal.SIGTERM) == "SIGTERM"
    assert signal_name(200).endswith("200") or signal_name(200).startswith("SIGRTMIN+")
