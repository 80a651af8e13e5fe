"""Structured log events: one verb, one list of names.

Logic says what happened by name; the logging set-up decides how the line looks. A name missing from
`NAMES` is a programming error, so the list stays the reference.
"""

from __future__ import annotations

import logging

import structlog

NAMES = frozenset(
    {
        "alert.raised",
        "attempt.finished",
        "attempt.started",
        "clock.step",
        "database.away",
        "database.back",
        "execution.lease_lost",
        "execution.recovered",
        "job.fault",
        "loop.error",
        "process.started",
        "process.stopping",
        "process.stopped",
        "scheduler.tick",
        "settings.dev_user",
        "worker.heartbeat_lost",
        "worker.released",
    }
)

_LEVELS = {
    "alert.raised": logging.WARNING,
    "clock.step": logging.WARNING,
    "database.away": logging.WARNING,
    "execution.lease_lost": logging.WARNING,
    "execution.recovered": logging.WARNING,
    "job.fault": logging.ERROR,
    "loop.error": logging.ERROR,
    "worker.heartbeat_lost": logging.ERROR,
    "attempt.started": logging.DEBUG,
    "attempt.finished": logging.DEBUG,
    "scheduler.tick": logging.DEBUG,
}

_log = structlog.stdlib.get_logger("scheduler_app")


def emit(name: str, /, **fields: object) -> None:
    """Log the event `name` with its fields. Raises ValueError for a name that is not listed."""
    if name not in NAMES:
        raise ValueError(f"unknown event name {name!r}: add it to events.NAMES")
    _log.log(_LEVELS.get(name, logging.INFO), name, **fields)
