"""From a database address to Django's settings: PostgreSQL by URL, SQLite as the embedded try-out store.

SQLite runs under WAL and IMMEDIATE: a transaction takes its write lock at the start and can wait for it,
where a read that turns into a write is refused at once. PostgreSQL gets nothing that a transaction pooler
would refuse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url

from task_scheduler.environment import BadEnvironment

SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def sqlite(file: Path) -> dict[str, Any]:
    """Settings of the SQLite file; its folder is made."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadEnvironment(
            f"the folder {file.parent} of the SQLite file cannot be made ({error.strerror}); set DATABASE_URL"
        ) from None
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(file), "OPTIONS": dict(SQLITE_OPTIONS)}


def postgresql(url: str, *, variable: str = "DATABASE_URL") -> dict[str, Any]:
    """Settings of a PostgreSQL URL; BadEnvironment does not show the URL, which may hold a password."""
    try:
        parsed: dict[str, Any] = {**dj_database_url.parse(url)}
    except (ValueError, KeyError):
        raise BadEnvironment(
            f"{variable}=(value not shown) is refused; accepted: postgres://user:password@host:5432/name "
            "with special characters percent-encoded"
        ) from None
    if not parsed.get("NAME"):
        raise BadEnvironment(
            f"{variable}=(value not shown) is refused; accepted: a URL that ends in /database-name"
        )
    options = {"application_name": "task-scheduler", "connect_timeout": 3, **parsed.get("OPTIONS", {})}
    if "options" in options:
        raise BadEnvironment(
            f"{variable} holds options=…, which a transaction pooler refuses; accepted: the URL without it"
        )
    return {
        **parsed,
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": options,
    }


def from_url(url: str, *, sqlite_file: Path) -> dict[str, Any]:
    """PostgreSQL by URL; `sqlite:////absolute/file` or, for no URL, `sqlite_file` as the try-out store."""
    if not url:
        return sqlite(sqlite_file)
    if url.startswith("sqlite:"):
        file = unquote(urlsplit(url).path)[1:]
        if not file or file.endswith("/"):
            raise BadEnvironment("DATABASE_URL: sqlite:// names no file; accepted: sqlite:////absolute/file")
        return sqlite(Path(file))
    return postgresql(url)
