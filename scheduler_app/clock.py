"""The only reader of a wall clock.

The database clock decides what is due, leased or alive, so that hosts with wrong clocks agree. It is read
once per round and handed down as `now`; `monotonic` is taken before the query, so whatever is counted
from it ends no later than the database believes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection


@dataclass(frozen=True, slots=True)
class Instant:
    """One reading: database time (aware, UTC), this host's monotonic second, and CLOCK_BOOTTIME or None."""

    now: datetime
    monotonic: float
    boottime: float | None


def _boottime() -> float | None:
    clock_id = getattr(time, "CLOCK_BOOTTIME", None)
    return None if clock_id is None else time.clock_gettime(clock_id)


def read_clock() -> Instant:
    """Read the database clock. Raises django.db.OperationalError when the database is away.

    On SQLite, which has no server, the clock of this host is the database clock.
    """
    boottime = _boottime()
    monotonic = time.monotonic()
    if connection.vendor != "postgresql":
        return Instant(datetime.now(UTC), monotonic, boottime)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    return Instant(row[0].astimezone(UTC), monotonic, boottime)


def begin_limited(*, idle_seconds: int, lock_seconds: int, statement_seconds: int) -> Instant:
    """Read the clock and limit the open transaction (SET LOCAL) in one statement."""
    if connection.vendor != "postgresql":
        return read_clock()
    boottime = _boottime()
    monotonic = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clock_timestamp(), set_config('idle_in_transaction_session_timeout', %s, true),"
            " set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)",
            [f"{idle_seconds}s", f"{lock_seconds}s", f"{statement_seconds}s"],
        )
        row = cursor.fetchone()
    return Instant(row[0].astimezone(UTC), monotonic, boottime)


def database_now() -> datetime:
    """The database clock as an aware UTC datetime."""
    return read_clock().now


def whole_second(instant: datetime) -> datetime:
    """The second an instant lies in: slots have no fraction."""
    return instant.replace(microsecond=0)


def iso(instant: datetime | None) -> str | None:
    """`YYYY-MM-DDTHH:MM:SSZ`, the one spelling of instants at every door; None stays None."""
    if instant is None:
        return None
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
