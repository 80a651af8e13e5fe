"""Hints that something is due: one NOTIFY per transaction batch, sent by PostgreSQL at commit.

A hint may be lost at any time; polling is the guarantee. The payload is always empty, so it never grows.
"""

from __future__ import annotations

from scheduler_app.services.transactions import execute, on_postgresql

JOBS_CHANGED = "scheduler_jobs_changed"
ROWS_DUE = "scheduler_rows_due"


def notify_schedulers() -> None:
    """Tell schedulers that a next_run_at moved; effective at commit."""
    _notify(JOBS_CHANGED)


def notify_workers() -> None:
    """Tell workers that rows became claimable; effective at commit."""
    _notify(ROWS_DUE)


def _notify(channel: str) -> None:
    if on_postgresql():
        execute("SELECT pg_notify(%s, '')", [channel])
