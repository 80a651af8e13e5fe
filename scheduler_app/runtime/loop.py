"""The life of a daemon: rounds, waits, and coming back after the database was away.

A round is a plain method that returns the seconds to wait. An error closes the connection and backs off
with jitter in the same process, whatever it was: one bad moment must not end a daemon. What the database
says in an outage is one line; a fault of our own is logged with its trace.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from traceback import format_exc
from typing import Protocol

from django.db import InterfaceError, OperationalError, connection, reset_queries

from scheduler_app import events
from scheduler_app.queries.database_errors import NOT_MIGRATED, is_not_migrated
from scheduler_app.runtime.signals import StopRequest, Watched

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0


class Daemon(Protocol):
    """What the loop runs."""

    def tick(self) -> float:
        """Do one round; return the seconds until the next is needed (0 for at once)."""

    def watched(self) -> Sequence[Watched]:
        """Files whose input should end the wait."""

    def database_lost(self) -> None:
        """The connection was closed after an error; whether the last commit stands is unknown."""

    def finished(self) -> bool:
        """Whether there is nothing left to do (a run with --once)."""


def run_until_stopped(daemon: Daemon, stop: StopRequest) -> None:
    """Run rounds until a stop is requested or the daemon is finished."""
    failures = 0
    while not stop.requested and not daemon.finished():
        try:
            pause = daemon.tick()
        except Exception as error:
            failures += 1
            pause = _backoff(failures)
            _report(failures, error, pause)
            reset_connection()
            daemon.database_lost()
            stop.wait(pause)
            continue
        if failures:
            failures = 0
            events.emit("database.back")
        reset_queries()
        if pause > 0 and not stop.requested and not daemon.finished():
            stop.wait(pause, daemon.watched())


def reset_connection() -> None:
    """Drop the connection, whatever state it is in; the next query opens a new one."""
    connection.close()


def _backoff(failures: int) -> float:
    ceiling: float = min(FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 10), LONGEST_PAUSE_SECONDS)
    return ceiling * random.uniform(0.5, 1.0)


def _report(failures: int, error: Exception, pause: float) -> None:
    """Say it at the first failure and then at every tenth, so that an outage does not fill a disk."""
    if failures != 1 and failures % 10 != 0:
        return
    line = next(iter(str(error).strip().splitlines()), "")
    facts = {"failures": failures, "retry_in": round(pause, 2)}
    if is_not_migrated(error):
        events.emit("database.away", error=NOT_MIGRATED, **facts)
    elif isinstance(error, (OperationalError, InterfaceError)):
        events.emit("database.away", error=line or type(error).__name__, **facts)
    else:
        events.emit("loop.error", error=f"{type(error).__name__}: {line}", trace=format_exc(), **facts)
