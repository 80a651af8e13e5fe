"""Remarks at a run whose local time is special: put after a gap, or one of two equal readings."""

from __future__ import annotations

from scheduler_app.domain.local_time import ZoneClock, reading_text


def note_at(clock: ZoneClock, second: int, jumped: int | None) -> str:
    """The remark for a run at this UTC second; `jumped` is the reading it stands in for, if there is one."""
    if jumped is not None:
        return f"after gap ({_short(jumped, clock.reading(second // 60))} does not exist)"
    place, of = clock.place(second // 60)
    if of == 1:
        return ""
    return "1st of 2" if place == 1 else "2nd of 2"


def _short(reading: int, shown_beside: int) -> str:
    """The time of a reading, with its date when the run shown beside it is on another date."""
    date, time = reading_text(reading).split()
    return time if reading_text(shown_beside).startswith(date) else f"{date} {time}"
