"""What an operator should know about a schedule before it runs: advice in words, never a reason to refuse.

Also what the next clock changes of the zone do to a job. Everything is asked of the compiled schedule at a
given instant, so advice and runs cannot disagree.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from scheduler_app.domain.cron_elements import DAY_OF_MONTH, DAY_OF_WEEK, FIELD_RULES
from scheduler_app.domain.cron_fields import CronFields
from scheduler_app.domain.cron_schedule import CronRule
from scheduler_app.domain.local_time import EPOCH, LAST_MINUTE, Shift, reading_text
from scheduler_app.domain.occurrences import Schedule
from scheduler_app.domain.schedule_text import MONTHS, date_text, days_both, listed, values_in, weekday_text

LOOK_AHEAD = timedelta(days=2 * 366)
RARE = timedelta(days=366)
COMMON_YEAR = 2023


class ScheduleWarning(NamedTuple):
    """`code` is one of overlap_pause, days_both, uneven_step, short_months, rare; `text` is for people."""

    code: str
    text: str


class ShiftNote(NamedTuple):
    """A clock change at `at` (aware, UTC) and what it does to the job."""

    at: datetime
    text: str


def schedule_warnings(schedule: Schedule, *, at: datetime) -> list[ScheduleWarning]:
    """The warnings of a schedule seen from `at`, in a fixed order; intervals and single runs have none."""
    rule = schedule.rule
    if not isinstance(rule, CronRule):
        return []
    fields = rule.calendar.fields
    found = [
        ("overlap_pause", _overlap_pause(schedule, rule, at)),
        ("days_both", _days_both(fields)),
        ("uneven_step", _uneven_steps(fields)),
        ("short_months", _short_months(fields)),
        ("rare", _rare(schedule, at)),
    ]
    return [ScheduleWarning(code, text) for code, text in found if text]


def next_shifts(schedule: Schedule, *, at: datetime, count: int = 2) -> list[ShiftNote]:
    """What the job does at the next clock changes of its zone, looking two years ahead."""
    return [
        ShiftNote(EPOCH + timedelta(minutes=shift.at), f"{_shift_text(shift)}: {_effect(schedule, shift)}")
        for shift in islice(_shifts_ahead(schedule, at), count)
    ]


def _shifts_ahead(schedule: Schedule, at: datetime) -> Iterator[Shift]:
    first = int((at - EPOCH).total_seconds()) // 60 + 1
    last = min(first + int(LOOK_AHEAD.total_seconds()) // 60, LAST_MINUTE)
    return schedule.clock.shifts(first, last)


def _overlap_pause(schedule: Schedule, rule: CronRule, at: datetime) -> str:
    if rule.policy == "cadence":
        return ""
    for shift in _shifts_ahead(schedule, at):
        runs = rule.calendar.count(shift.at + shift.after, shift.at + shift.before)
        if runs >= 2:
            return (
                f"{_shift_text(shift)}; the {runs} runs of the repeated time happen once, so the job "
                f"pauses for {_length(shift.before - shift.after)}. dst_policy cadence keeps its rhythm"
            )
    return ""


def _days_both(fields: CronFields) -> str:
    if not days_both(fields):
        return ""
    dates, weekdays = date_text(fields), weekday_text(fields)
    if fields.both_days:
        return f"both day fields are given, one starts with *: a day must match both, {weekdays} and {dates}"
    return f"both day fields are given: it runs on {dates} OR on {weekdays}, not only when both match"


def _uneven_steps(fields: CronFields) -> str:
    rules = {rule.name: rule for rule in FIELD_RULES}
    for step in fields.steps:
        rule, values = rules[step.field], step.values
        size = values[1] - values[0] if len(values) > 1 else 0
        wrap = values[0] + rule.step_end + 1 - rule.low - values[-1]
        varies = rule is DAY_OF_MONTH and size > 1
        if size and (wrap != size or varies):
            return (
                f"{step.text} in the {rule.label} starts again each {rule.unit}: {values[0]} follows "
                f"{values[-1]} and is not {size} later; use an interval job for an even rhythm"
            )
    return ""


def _short_months(fields: CronFields) -> str:
    every_weekday = not fields.both_days and fields.weekdays == DAY_OF_WEEK.full
    if fields.texts[2].startswith("*") or fields.days == DAY_OF_MONTH.full or every_weekday:
        return ""
    last = fields.days.bit_length() - 1
    short = [month for month in values_in(fields.months) if monthrange(COMMON_YEAR, month)[1] < last]
    if not short:
        return ""
    names = listed([MONTHS[month - 1] for month in short])
    most = " of most years" if last == 29 else ""
    return f"day {last} is missing in {names}{most}; L is the last day of any month"


def _rare(schedule: Schedule, at: datetime) -> str:
    following = schedule.next(at)
    if following is None:
        return "there is no further run"
    if following - at <= RARE:
        return ""
    minute = int((following - EPOCH).total_seconds()) // 60
    return f"the next run is more than a year away, on {reading_text(schedule.clock.reading(minute))[:10]}"


def _shift_text(shift: Shift) -> str:
    old, new = reading_text(shift.at + shift.before), reading_text(shift.at + shift.after)
    way = "forward" if shift.after > shift.before else "back"
    return f"on {old[:10]} at {old[11:]} the clock goes {way} to {new[11:] if new[:10] == old[:10] else new}"


def _effect(schedule: Schedule, shift: Shift) -> str:
    rule = schedule.rule
    if not isinstance(rule, CronRule):
        return "elapsed time and single instants are not affected"
    forward = shift.after > shift.before
    low, high = sorted((shift.at + shift.before, shift.at + shift.after))
    named = rule.calendar.count(low, high)
    if not named:
        return "no run is affected"
    first = reading_text(rule.calendar.next_minute(low) or low)[11:]
    runs = f"the {named} runs from {first} on" if named > 1 else f"the run at {first}"
    if rule.policy == "cadence":
        return f"{runs} would fall into the gap; none is added" if forward else f"{runs}: in both passes"
    if forward:
        return f"{runs}: once, at {reading_text(high)[11:]}"
    return f"{runs}: in the first pass only"


def _length(count: int) -> str:
    return f"{count // 60} h" if count % 60 == 0 else f"{count} min"
