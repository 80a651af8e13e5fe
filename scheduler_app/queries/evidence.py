"""What the rows say about one promise: each slot of a job has exactly one row.

The statement is kept as text so that a demonstration can print what it asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

SLOT_FIGURES = """
SELECT count(*), count(DISTINCT scheduled_for), min(scheduled_for), max(scheduled_for)
FROM scheduler_app_execution WHERE job_id = %s AND trigger = 'schedule'
""".strip()


@dataclass(frozen=True, slots=True)
class SlotFigures:
    """Rows and distinct slots of a job, and its first and last slot."""

    rows: int
    slots: int
    first: datetime | None
    last: datetime | None


def slot_figures(job_id: int) -> SlotFigures:
    """The figures of a job with a short history; the statement counts all its rows. PostgreSQL only."""
    with connection.cursor() as cursor:
        cursor.execute(SLOT_FIGURES, [job_id])
        rows, slots, first, last = cursor.fetchone()
    return SlotFigures(rows, slots, first, last)
