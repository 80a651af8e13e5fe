"""What the end of an attempt means: one row of the table a case."""

from __future__ import annotations

import pytest

from scheduler_app.domain.retry import RetryRule
from scheduler_app.domain.states import TERMINAL, Status, is_legal
from scheduler_app.domain.verdict import (
    LOSSES_BEFORE_DEAD_LETTER,
    Ending,
    Standing,
    Verdict,
    judge_attempt,
    judge_lost_attempt,
    judge_lost_claim,
)

OUTCOMES = ("succeeded", "failed", "timed_out", "lost", "released", "terminated")


def standing(attempts: int = 1, of: int = 3, on_lost_worker: str = "retry") -> Standing:
    return Standing(attempts, of, on_lost_worker, RetryRule(base_seconds=10))


def judge(ending: Ending, where: Standing) -> Verdict:
    return judge_attempt(ending, where, random=lambda: 0.0)


@pytest.mark.parametrize(
    ("outcome", "retryable", "attempts", "status", "dead_letter"),
    [
        ("succeeded", True, 1, "succeeded", False),
        ("succeeded", True, 3, "succeeded", False),
        ("failed", True, 1, "retry_scheduled", False),
        ("failed", True, 2, "retry_scheduled", False),
        ("failed", True, 3, "failed", True),
        ("failed", False, 1, "failed", True),
        ("timed_out", True, 1, "retry_scheduled", False),
        ("timed_out", True, 3, "timed_out", True),
        ("timed_out", False, 1, "timed_out", True),
        ("lost", True, 1, "retry_scheduled", False),
        ("lost", True, 3, "dead_lettered", True),
        ("released", True, 1, "pending", False),
        ("released", True, 3, "pending", False),
        ("terminated", True, 1, "cancelled", False),
    ],
)
def test_an_ending_leads_to_its_state(
    outcome: str, retryable: bool, attempts: int, status: str, dead_letter: bool
) -> None:
    verdict = judge(Ending(outcome, retryable=retryable), standing(attempts))

    assert (verdict.status, verdict.dead_letter) == (status, dead_letter)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("retryable", [True, False])
@pytest.mark.parametrize("attempts", [1, 2, 3])
@pytest.mark.parametrize("on_lost_worker", ["retry", "fail"])
def test_each_verdict_is_an_arrow_out_of_running(
    outcome: str, retryable: bool, attempts: int, on_lost_worker: str
) -> None:
    verdict = judge(Ending(outcome, retryable=retryable), standing(attempts, on_lost_worker=on_lost_worker))

    assert is_legal(Status.RUNNING, verdict.status)
    assert (verdict.delay_seconds is None) == (verdict.status in TERMINAL)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("on_lost_worker", ["retry", "fail"])
def test_only_an_exhausted_row_has_a_dead_letter(outcome: str, attempts: int, on_lost_worker: str) -> None:
    verdict = judge(Ending(outcome), standing(attempts, on_lost_worker=on_lost_worker))

    assert verdict.dead_letter == (verdict.status in {"failed", "timed_out", "dead_lettered"})


def test_dead_lettered_comes_from_a_lost_worker_only() -> None:
    for outcome in ("succeeded", "failed", "timed_out", "terminated"):
        for attempts in (1, 2, 3):
            assert judge(Ending(outcome), standing(attempts)).status != Status.DEAD_LETTERED


def test_a_retry_waits_by_the_rule_of_the_job() -> None:
    delays = [judge(Ending("failed"), standing(attempt, of=9)).delay_seconds for attempt in (1, 2, 3, 4)]

    assert delays == [10, 20, 40, 80]


def test_a_retry_honours_what_the_receiver_asked_for() -> None:
    assert judge(Ending("failed", retry_after_seconds=120), standing()).delay_seconds == 120


def test_an_attempt_of_a_lost_worker_runs_again_at_once() -> None:
    assert judge_lost_attempt(standing(1)).delay_seconds == 0


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_job_that_must_not_repeat_a_cut_run_is_abandoned(attempts: int) -> None:
    where = standing(attempts, on_lost_worker="fail")

    assert judge_lost_attempt(where).status == Status.DEAD_LETTERED
    assert judge(Ending("lost"), where).status == Status.DEAD_LETTERED
    assert judge(Ending("released"), where).status == Status.DEAD_LETTERED


def test_a_failure_of_such_a_job_is_retried_all_the_same() -> None:
    verdict = judge(Ending("failed"), standing(1, on_lost_worker="fail"))

    assert verdict.status == Status.RETRY_SCHEDULED


def test_handing_back_gives_the_attempt_back() -> None:
    assert judge(Ending("released"), standing(3, of=3)).max_attempts == 4


def test_a_claim_lost_before_the_start_is_no_attempt_and_the_fifth_loss_is_the_last() -> None:
    verdicts = [judge_lost_claim(losses=losses).status for losses in range(1, LOSSES_BEFORE_DEAD_LETTER + 1)]

    assert verdicts == ["pending"] * 4 + ["dead_lettered"]
    assert judge_lost_claim(losses=5).dead_letter
    assert all(is_legal(Status.CLAIMED, status) for status in verdicts)


def test_the_reason_says_how_often_and_why() -> None:
    assert judge(Ending("failed", summary="boom"), standing(1)).reason == "retry 2 of 3: boom"
    assert judge(Ending("failed"), standing(3)).reason == "attempt 3 of 3 failed"
    assert judge(Ending("succeeded"), standing()).reason == ""
    assert "its worker was lost" in judge_lost_attempt(standing(3)).reason
    assert "not to repeat" in judge_lost_attempt(standing(1, on_lost_worker="fail")).reason
