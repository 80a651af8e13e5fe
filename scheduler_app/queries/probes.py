"""Asking the services behind the product whether they answer, within a deadline of this process's own.

A database that accepts connections and then says nothing would hold its caller for ever, so the question is
put by a thread that the caller stops waiting for; while one such thread hangs no second one is started.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from pathlib import Path

import redis
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from redis.backoff import NoBackoff
from redis.retry import Retry

PROBE_SECONDS = 3.0
REDIS_SECONDS = 0.3
SYSTEM_ZONES = Path("/usr/share/zoneinfo")


class Unreachable(Exception):
    """A service does not answer; the message is for people and holds no secret."""


class _Question:
    """One `SELECT 1` on a connection of its own thread; those who ask meanwhile share the answer."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        self.refusal = ""
        self.started = time.monotonic()
        self.thread = threading.Thread(target=self._ask, name="database-probe", daemon=True)
        self.thread.start()

    def _ask(self) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            self.seconds = time.monotonic() - self.started
        except DatabaseError as error:
            self.refusal = type(error).__name__
        finally:
            connection.close()

    def wait(self) -> bool:
        """Whether the question has ended PROBE_SECONDS after it was put."""
        self.thread.join(max(0.0, self.started + PROBE_SECONDS - time.monotonic()))
        return not self.thread.is_alive()


_lock = threading.Lock()
_latest: list[_Question] = []


def probe_database() -> float:
    """Seconds the database took to answer on a new connection. Raises Unreachable within PROBE_SECONDS."""
    with _lock:
        if not _latest or not _latest[0].thread.is_alive():
            _latest[:] = [_Question()]
        question = _latest[0]
    if not question.wait():
        raise Unreachable(f"{database_address()} did not answer within {PROBE_SECONDS:.0f} s")
    if question.seconds is None:
        raise Unreachable(
            f"{database_address()} refused ({question.refusal}); see that it runs and check DATABASE_URL"
        )
    return question.seconds


def database_address() -> str:
    """Where the database is, for messages: never a user or a password."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"the SQLite file {settings['NAME']}"
    host = settings.get("HOST") or "localhost"
    return f"PostgreSQL at {host}:{settings.get('PORT') or 5432}, database {settings['NAME']},"


def probe_redis(url: str) -> float:
    """Seconds Redis took to answer. Raises Unreachable within about twice REDIS_SECONDS."""
    started = time.monotonic()
    try:
        client = redis.Redis.from_url(
            url,
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        with client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        raise Unreachable(f"Redis does not answer ({type(error).__name__})") from None
    return time.monotonic() - started


def unapplied_migrations() -> list[str]:
    """Names `app.migration` on disk that the database has not applied, in no order of meaning but sorted."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    return [
        f"{app}.{name}"
        for (app, name), replaces in _migrations_on_disk()
        if (app, name) not in applied and not (replaces and applied.issuperset(replaces))
    ]


@cache
def _migrations_on_disk() -> tuple[tuple[tuple[str, str], tuple[tuple[str, str], ...]], ...]:
    """Each migration with what it replaces; read once, because the code of a process does not change."""
    loader = MigrationLoader(None)
    nodes = sorted(loader.graph.nodes)
    return tuple((node, tuple(loader.disk_migrations[node].replaces)) for node in nodes)


@cache
def system_zone_release() -> str:
    """The release of the system's own zone files, which the product does not use; empty when unknown."""
    for name in ("tzdata.zi", "+VERSION"):
        try:
            with (SYSTEM_ZONES / name).open(encoding="ascii", errors="replace") as lines:
                return lines.readline(80).removeprefix("# version").strip()
        except OSError:
            continue
    return ""
