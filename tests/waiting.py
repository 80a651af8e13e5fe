"""Waiting in tests: for a condition, with a deadline, never for a fixed time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
STEP_SECONDS = 0.02


def wait_until(
    predicate: Callable[[], Answer], seconds: float = 10, what: str = "the condition holds"
) -> Answer:
    """Ask `predicate` until its answer is true and return it; after `seconds` AssertionError names `what`."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (answer := predicate()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds} s: {what} (last answer {answer!r})")
        pause.wait(STEP_SECONDS)
    return answer
