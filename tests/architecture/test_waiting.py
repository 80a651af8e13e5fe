"""The waiting tool of the tests itself: it returns what it waited for and fails by name."""

from __future__ import annotations

import pytest

from tests.waiting import wait_until


def test_it_returns_the_answer_it_waited_for() -> None:
    answers = iter([0, None, "ready"])

    assert wait_until(lambda: next(answers), what="an answer") == "ready"


def test_it_fails_with_the_name_of_what_did_not_happen() -> None:
    with pytest.raises(AssertionError, match=r"not within 0\.05 s: the cow comes home"):
        wait_until(lambda: False, seconds=0.05, what="the cow comes home")
