"""Ranges of slots that got no execution of their own, for people who ask where a run is.

Both doors read them here and use the same words, so that a page and the command line never disagree.
"""

from __future__ import annotations

from scheduler_app.domain.misfire import RANGE_COUNT_LIMIT
from scheduler_app.models import MissedRange
from scheduler_app.queries.paging import check_limit

REASON_WORDS = {
    "coalesced": "late, made up for by one newer run",
    "skipped": "late, and the job skips late runs",
    "disabled": "the job was disabled",
    "edited": "the job was edited",
    "fault": "the job was held by a fault",
}


def recent_missed_ranges(job_id: int, limit: int) -> list[MissedRange]:
    """The newest ranges of a job, by their last slot; one indexed statement of at most `limit` rows.

    Raises ValidationFailed for `limit`.
    """
    check_limit(limit)
    rows = MissedRange.objects.filter(job_id=job_id).order_by("-last_slot_for", "-pk")
    return list(rows[:limit])


def count_words(found: MissedRange) -> str:
    """How many slots: `1 slot`, `2,500 slots`, `more than 100,000 slots`."""
    if found.count is None:
        return f"more than {RANGE_COUNT_LIMIT:,} slots"
    return "1 slot" if found.count == 1 else f"{found.count:,} slots"


def reason_words(found: MissedRange) -> str:
    """Why none of them ran; a reason without words stands for itself."""
    return REASON_WORDS.get(found.reason, found.reason)
