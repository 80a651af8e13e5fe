"""How this product talks to its two databases inside a transaction.

Every daemon transaction limits itself, so that a frozen process frees its locks; raw statements get their
values through `sql_value`, so that one piece of SQL serves PostgreSQL and SQLite where the text allows it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from scheduler_app.clock import Instant, begin_limited

IDLE_SECONDS = 10
LOCK_SECONDS = 5
STATEMENT_SECONDS = 30


def on_postgresql() -> bool:
    """Whether the database has row locks, sequences and NOTIFY."""
    return connection.vendor == "postgresql"


@contextmanager
def daemon_transaction() -> Iterator[Instant]:
    """A transaction whose locks end soon even when this process is stopped; yields the database clock."""
    with transaction.atomic():
        yield begin_limited(
            idle_seconds=IDLE_SECONDS, lock_seconds=LOCK_SECONDS, statement_seconds=STATEMENT_SECONDS
        )


def sql_value(value: Any) -> Any:
    """A value as a raw statement of the connected database wants it."""
    if on_postgresql():
        return json.dumps(value) if isinstance(value, dict) else value
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    if isinstance(value, uuid.UUID):
        return value.hex
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return value


def in_list(values: Iterable[Any]) -> tuple[str, list[Any]]:
    """The right side of `column …` for "is one of": SQL text and its parameters. Never empty-handed."""
    items = list(values)
    if on_postgresql():
        return "= ANY(%s)", [items]
    return f"IN ({', '.join(['%s'] * len(items))})", [sql_value(item) for item in items]


def fetch_all(statement: str, parameters: Sequence[Any] | dict[str, Any]) -> list[tuple[Any, ...]]:
    """Run one statement and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def execute(statement: str, parameters: Sequence[Any] | dict[str, Any]) -> int:
    """Run one statement and return the number of rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
