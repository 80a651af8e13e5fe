"""When a failed attempt is tried again.

`delay = retry_backoff_seconds * 2 ** (attempt_number - 1)`, or constant; never above the job's cap; with
full jitter drawn uniformly from (0, delay]. A receiver's Retry-After is a floor, itself capped at a day.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

RETRY_AFTER_CAP_SECONDS = 86_400
DEFAULT_BASE_SECONDS = 30
DEFAULT_CAP_SECONDS = 3_600
_LARGEST_EXPONENT = 62


@dataclass(frozen=True, slots=True)
class RetryRule:
    """The retry part of a job definition. Delays are seconds."""

    backoff: str = "exponential"
    base_seconds: int = DEFAULT_BASE_SECONDS
    cap_seconds: int = DEFAULT_CAP_SECONDS
    jitter: str = "none"


def retry_delay_seconds(
    rule: RetryRule,
    *,
    attempt_number: int,
    random: Callable[[], float],
    retry_after_seconds: float = 0.0,
) -> float:
    """Seconds to wait after the failed attempt `attempt_number` (1 for the first).

    `random` gives a number in [0, 1) and is asked only for full jitter. A rule with values no validator
    would accept (they can only come from outside the product) falls back to the defaults.
    """
    base = rule.base_seconds if rule.base_seconds >= 0 else DEFAULT_BASE_SECONDS
    cap = rule.cap_seconds if rule.cap_seconds >= 0 else DEFAULT_CAP_SECONDS
    exponent = 0 if rule.backoff == "constant" else min(max(attempt_number - 1, 0), _LARGEST_EXPONENT)
    delay = float(min(base * 2**exponent, cap))
    if rule.jitter == "full":
        delay *= 1.0 - random()
    floor = min(retry_after_seconds, RETRY_AFTER_CAP_SECONDS) if math.isfinite(retry_after_seconds) else 0.0
    return max(delay, floor, 0.0)
