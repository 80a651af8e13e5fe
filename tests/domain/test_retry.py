"""The delay before a retry: the published formula, its cap, its jitter, and values nobody would accept."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_app.domain.retry import RETRY_AFTER_CAP_SECONDS, RetryRule, retry_delay_seconds


def never_asked() -> float:
    """A source of chance that must not be used."""
    raise AssertionError("asked for chance without jitter")


def delay(rule: RetryRule, attempt: int, *, chance: float | None = None, retry_after: float = 0.0) -> float:
    source = never_asked if chance is None else lambda: chance
    return retry_delay_seconds(rule, attempt_number=attempt, random=source, retry_after_seconds=retry_after)


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 10), (2, 20), (3, 40), (4, 80)])
def test_the_delay_doubles_with_each_attempt(attempt: int, seconds: int) -> None:
    assert delay(RetryRule(base_seconds=10), attempt) == seconds


@pytest.mark.parametrize("attempt", [1, 2, 3, 50])
def test_a_constant_delay_does_not_grow(attempt: int) -> None:
    assert delay(RetryRule(backoff="constant", base_seconds=7), attempt) == 7


def test_the_delay_stops_at_the_cap() -> None:
    rule = RetryRule(base_seconds=30, cap_seconds=100)

    assert [delay(rule, attempt) for attempt in (1, 2, 3, 4)] == [30, 60, 100, 100]


def test_a_constant_delay_is_capped_too() -> None:
    assert delay(RetryRule(backoff="constant", base_seconds=500, cap_seconds=60), 1) == 60


def test_attempt_one_million_is_computed_at_once_and_capped() -> None:
    assert delay(RetryRule(base_seconds=1, cap_seconds=3600), 1_000_000) == 3600


def test_a_delay_of_zero_means_at_once() -> None:
    assert delay(RetryRule(base_seconds=0), 5) == 0


@given(chance=st.floats(0, 1, exclude_max=True), attempt=st.integers(1, 40))
def test_full_jitter_lies_between_nothing_and_the_whole_delay(chance: float, attempt: int) -> None:
    whole = delay(RetryRule(base_seconds=10), attempt)

    assert 0 < delay(RetryRule(base_seconds=10, jitter="full"), attempt, chance=chance) <= whole


def test_full_jitter_reaches_both_ends() -> None:
    rule = RetryRule(base_seconds=10, jitter="full")

    assert delay(rule, 2, chance=0.0) == 20
    assert delay(rule, 2, chance=0.75) == 5


def test_jitter_is_drawn_from_the_capped_delay() -> None:
    rule = RetryRule(base_seconds=10, cap_seconds=40, jitter="full")

    assert delay(rule, 10, chance=0.5) == 20


def test_a_receivers_wish_is_a_floor() -> None:
    assert delay(RetryRule(base_seconds=10), 1, retry_after=60) == 60
    assert delay(RetryRule(base_seconds=10), 4, retry_after=60) == 80


def test_a_receivers_wish_may_exceed_the_jobs_cap_but_not_a_day() -> None:
    rule = RetryRule(base_seconds=10, cap_seconds=20)

    assert delay(rule, 1, retry_after=3_000) == 3_000
    assert delay(rule, 1, retry_after=10**9) == RETRY_AFTER_CAP_SECONDS


@pytest.mark.parametrize("wish", [math.inf, -math.inf, math.nan, -5.0])
def test_a_wish_that_is_no_duration_is_ignored(wish: float) -> None:
    assert delay(RetryRule(base_seconds=10), 1, retry_after=wish) == 10


@pytest.mark.parametrize("rule", [RetryRule(base_seconds=-5), RetryRule(base_seconds=-(2**40))])
def test_a_negative_base_falls_back_to_the_default(rule: RetryRule) -> None:
    assert delay(rule, 1) == 30


def test_a_negative_cap_falls_back_to_the_default() -> None:
    assert delay(RetryRule(base_seconds=10_000, cap_seconds=-1), 1) == 3_600


@pytest.mark.parametrize("backoff", ["", "fibonacci", "EXPONENTIAL"])
def test_an_unknown_backoff_doubles(backoff: str) -> None:
    assert delay(RetryRule(backoff=backoff, base_seconds=10), 3) == 40


@pytest.mark.parametrize("attempt", [0, -3])
def test_an_attempt_number_below_one_counts_as_the_first(attempt: int) -> None:
    assert delay(RetryRule(base_seconds=10), attempt) == 10


@given(
    base=st.integers(-(2**31), 2**31),
    cap=st.integers(-(2**31), 2**31),
    attempt=st.integers(-10, 10**6),
    wish=st.floats(),
)
def test_whatever_was_stored_the_delay_is_a_finite_duration(
    base: int, cap: int, attempt: int, wish: float
) -> None:
    seconds = delay(RetryRule(base_seconds=base, cap_seconds=cap), attempt, retry_after=wish)

    assert 0 <= seconds <= max(2**31, RETRY_AFTER_CAP_SECONDS)
