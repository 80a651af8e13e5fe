"""Hears NOTIFY on a connection of its own, so that a daemon need not wait for its next poll.

A wake-up is only a hint: when the connection cannot be had or dies, polling carries on and the listener
tries again later. It uses DATABASE_DIRECT_URL where set, because a transaction pooler forwards no
notifications.
"""

from __future__ import annotations

import time
from contextlib import suppress

import psycopg
from django.db import connection

from scheduler_app.conf import conf

RECONNECT_SECONDS = 5.0
CONNECT_TIMEOUT_SECONDS = 3


class Listener:
    """One channel. `fileno()` is negative while there is no connection (always on SQLite)."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._retry_at = 0.0

    def fileno(self) -> int:
        """The socket to watch, or -1."""
        return -1 if self._connection is None else self._connection.fileno()

    def heard(self) -> bool:
        """Take what arrived; whether there was a notification. Connects when due; never raises."""
        if connection.vendor != "postgresql":
            return False
        if self._connection is None:
            self._connect()
            return False
        try:
            return any(True for _ in self._connection.notifies(timeout=0))
        except psycopg.Error:
            self.close()
            return True

    def close(self) -> None:
        """Drop the connection; the next `heard` may make a new one after a pause."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None
        self._retry_at = time.monotonic() + RECONNECT_SECONDS

    def _connect(self) -> None:
        if time.monotonic() < self._retry_at:
            return
        try:
            self._connection = psycopg.connect(
                _address(), autocommit=True, connect_timeout=CONNECT_TIMEOUT_SECONDS
            )
            self._connection.execute(f'LISTEN "{self._channel}"')
        except psycopg.Error:
            self.close()


def _address() -> str:
    direct = conf().database_direct_url
    if direct:
        return direct.replace("postgres://", "postgresql://", 1)
    parameters = connection.get_connection_params()
    wanted = ("dbname", "user", "password", "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey")
    return psycopg.conninfo.make_conninfo(
        "", **{name: str(parameters[name]) for name in wanted if parameters.get(name)}
    )
