"""Actors for races: each runs in a thread with a connection of its own, and every wait has a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connection

from scheduler_app.services.transactions import fetch_all
from tests.waiting import wait_until

Answer = TypeVar("Answer")
SECONDS = 30.0


class Gate:
    """A place where one actor waits until another opens it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def open(self) -> None:
        """Let those who wait, and all who come later, pass."""
        self._event.set()

    def wait(self) -> None:
        """Wait until it is open; AssertionError after the deadline."""
        assert self._event.wait(SECONDS), f"a gate stayed shut for {SECONDS} s"


class Actors:
    """Starts actors and collects what they return; an exception of one is raised where it is asked for."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def start(self, work: Callable[..., Answer], *arguments: Any, **values: Any) -> Future[Answer]:
        """Begin at once, in another thread."""

        def run() -> Answer:
            try:
                return work(*arguments, **values)
            finally:
                connection.close()

        return self._pool.submit(run)

    def together(self, *works: Callable[[], Answer]) -> list[Answer]:
        """Run all, begun at the same moment; their answers in order."""
        barrier = threading.Barrier(len(works))

        def one(work: Callable[[], Answer]) -> Answer:
            connection.ensure_connection()
            barrier.wait(SECONDS)
            return work()

        return [result(future) for future in [self.start(one, work) for work in works]]


def result(future: Future[Answer]) -> Answer:
    """What the actor returned, or its exception; TimeoutError after the deadline."""
    return future.result(timeout=SECONDS)


@contextmanager
def actors(count: int = 16) -> Iterator[Actors]:
    """Room for that many actors at once."""
    with ThreadPoolExecutor(count) as pool:
        yield Actors(pool)


def waiting_for_a_lock() -> int:
    """How many sessions of this database stand before a lock of another."""
    return int(
        fetch_all(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'",
            [],
        )[0][0]
    )


def until_somebody_waits(count: int = 1) -> None:
    """Return when that many sessions wait for a lock."""
    wait_until(lambda: waiting_for_a_lock() >= count, seconds=4, what=f"{count} sessions wait for a lock")


def deadlocks() -> int:
    """How many deadlocks PostgreSQL has broken in this database; call it when the actors have ended."""
    return int(
        fetch_all("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", [])[0][0]
    )
