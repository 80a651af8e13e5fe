"""The plain fields of a job, each with its rule and its default; schedule and config have their own rules."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_app.models.choices import (
    AlertMode,
    DstPolicy,
    MisfirePolicy,
    OnLostWorker,
    OverlapPolicy,
    RetryBackoff,
    RetryJitter,
)
from scheduler_app.services.field_rules import (
    clean_boolean,
    clean_choice,
    clean_instant,
    clean_integer,
    clean_text,
    clean_word,
    clean_words,
)

SECONDS_A_YEAR = 31_536_000
NAME_LIMIT = 200

Rule = Callable[[object], object]


def text(maximum: int, *, required: bool = False, lines: bool = False) -> Rule:
    return lambda value: clean_text(value, maximum=maximum, required=required, lines=lines)


def _whole(minimum: int, maximum: int) -> Rule:
    return lambda value: clean_integer(value, minimum=minimum, maximum=maximum)


def choice(*words: str) -> Rule:
    return lambda value: clean_choice(value, choices=words)


def _optional(rule: Rule) -> Rule:
    return lambda value: None if value is None or value == "" else rule(value)


RULES: dict[str, Rule] = {
    "name": text(NAME_LIMIT, required=True),
    "key": _optional(text(200, required=True)),
    "description": text(10_000, lines=True),
    "dst_policy": choice(*DstPolicy.values),
    "starts_at": _optional(clean_instant),
    "ends_at": _optional(clean_instant),
    "anchor_at": _optional(clean_instant),
    "overlap_policy": choice(*OverlapPolicy.values),
    "queue_limit": _whole(1, 100_000),
    "misfire_policy": choice(*MisfirePolicy.values),
    "misfire_grace_seconds": _whole(0, SECONDS_A_YEAR),
    "max_attempts": _whole(1, 100),
    "retry_backoff": choice(*RetryBackoff.values),
    "retry_backoff_seconds": _whole(0, SECONDS_A_YEAR),
    "retry_max_delay_seconds": _whole(0, SECONDS_A_YEAR),
    "retry_jitter": choice(*RetryJitter.values),
    "timeout_seconds": _whole(1, 7 * 86_400),
    "on_lost_worker": choice(*OnLostWorker.values),
    "alert_mode": choice(*AlertMode.values),
    "retention_count": _whole(0, 1_000_000),
    "retention_days": _whole(0, 3_650),
    "queue": lambda value: clean_word(value, maximum=64),
    "priority": _whole(-1_000, 1_000),
    "labels": lambda value: clean_words(value, maximum_items=20, maximum=64),
    "enabled": clean_boolean,
}
DEFAULTS: dict[str, object] = {
    "key": None,
    "description": "",
    "config": {},
    "timezone": "UTC",
    "dst_policy": "auto",
    "starts_at": None,
    "ends_at": None,
    "anchor_at": None,
    "overlap_policy": "skip",
    "queue_limit": 1_000,
    "misfire_policy": "coalesce",
    "misfire_grace_seconds": 60,
    "max_attempts": 3,
    "retry_backoff": "exponential",
    "retry_backoff_seconds": 30,
    "retry_max_delay_seconds": 3_600,
    "retry_jitter": "none",
    "timeout_seconds": 300,
    "on_lost_worker": "retry",
    "alert_mode": "web",
    "retention_count": 1_000,
    "retention_days": 30,
    "queue": "default",
    "priority": 0,
    "labels": [],
    "enabled": True,
}
