"""A compiled schedule in words, from the same sets the scheduler runs by, never from the typed text.

So a sentence cannot describe an expression that would be refused, nor say something else than what will run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from scheduler_app.domain.cron_elements import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH
from scheduler_app.domain.cron_fields import CronFields
from scheduler_app.domain.cron_schedule import CronRule
from scheduler_app.domain.durations import SECONDS_OF_WORD
from scheduler_app.domain.interval_schedule import IntervalRule
from scheduler_app.domain.local_time import EPOCH, ZoneClock, local_text
from scheduler_app.domain.one_time_schedule import OneTimeRule

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth")

_MOST_TIMES = 6


def describe_rule(
    rule: CronRule | IntervalRule | OneTimeRule,
    clock: ZoneClock,
    starts_at: datetime | None,
    ends_at: datetime | None,
) -> str:
    """One sentence without a full stop, such as `At 09:00 on Monday to Friday, Europe/Paris time`."""
    if isinstance(rule, CronRule):
        zone = "UTC" if clock.name == "UTC" else f"{clock.name} time"
        sentence = f"{cron_text(rule.calendar.fields)}, {zone}"
    elif isinstance(rule, IntervalRule):
        sentence = f"Every {_duration(rule.every)}, counted from {_instant(rule.anchor)}"
    else:
        at = EPOCH + timedelta(seconds=rule.at)
        sentence = f"Once, at {_instant(rule.at)}"
        if clock.name != "UTC":
            sentence += f" ({local_text(at, clock.name)} {clock.name})"
    if starts_at is not None:
        sentence += f", not before {_iso(starts_at)}"
    if ends_at is not None:
        sentence += f", not after {_iso(ends_at)}"
    return sentence


def dst_outcome(rule: CronRule | IntervalRule | OneTimeRule) -> str:
    """What the policy for clock changes comes to; empty for schedules that do not look at the wall again."""
    if not isinstance(rule, CronRule):
        return ""
    name = "automatic" if rule.asked_policy == "auto" else rule.policy.replace("_", " ")
    if rule.policy == "wall_clock":
        return f"{name}: each local time once"
    return f"{name}: keeps its rhythm" + (" (every hour)" if rule.calendar.fields.every_hour else "")


def cron_text(fields: CronFields) -> str:
    """The sentence of an expression without its zone: `Every 10 minutes`, `At 09:00 on Monday to Friday`."""
    sentence, days, months = _times(fields), _days(fields), _months(fields)
    if days:
        sentence += f" {days}"
    if months:
        sentence += f", {months}" if days and days_both(fields) else f" {months}"
    return sentence


def days_both(fields: CronFields) -> bool:
    """Whether both day fields are given, so that people must be told if one or both have to match."""
    return fields.texts[2] not in ("*", "?") and fields.texts[4] not in ("*", "?")


def values_in(mask: int) -> list[int]:
    """The values of a set, ascending."""
    return [value for value in range(mask.bit_length()) if mask >> value & 1]


def listed(words: Sequence[str], last_word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last_word} {words[-1]}"


def weekday_text(fields: CronFields) -> str:
    """The days of the week in words: `Monday to Friday`, `the first Monday and the last Friday`."""
    words = _spans(values_in(fields.weekdays), lambda day: WEEKDAYS[day])
    words += [f"the {ORDINALS[n - 1]} {WEEKDAYS[day]}" for day, n in sorted(fields.nth_weekdays)]
    words += [f"the last {WEEKDAYS[day]}" for day in sorted(fields.last_weekdays)]
    return listed(words) + (" of the month" if fields.nth_weekdays or fields.last_weekdays else "")


def date_text(fields: CronFields) -> str:
    """The days of the month in words: `day 1 and 15 of the month`, `the last day of the month`."""
    days = values_in(fields.days)
    words = []
    if _is_cycle(days, 31):
        words.append(f"every {_ordinal(days[1] - days[0])} day from day {days[0]}")
    elif days:
        words.append("day " + listed(_spans(days, str)))
    if fields.last_day:
        words.append("the last day")
    return listed(words) + " of the month"


def _times(fields: CronFields) -> str:
    minutes, hours = values_in(fields.minutes), values_in(fields.hours)
    if fields.every_hour:
        if len(minutes) == 1:
            return f"Every hour at minute {minutes[0]}"
        rhythm = _rhythm(fields)
        return rhythm or f"Every hour at minutes {listed(_spans(minutes, str))}"
    if len(minutes) * len(hours) <= _MOST_TIMES:
        return "At " + listed([f"{hour:02}:{minute:02}" for hour in hours for minute in minutes])
    rhythm = _rhythm(fields)
    if rhythm and hours[-1] - hours[0] == len(hours) - 1:
        return f"{rhythm} from {hours[0]:02}:00 to {hours[-1]:02}:59"
    if _is_cycle(hours, HOUR.high):
        in_hours = f"every {_ordinal(hours[1] - hours[0])} hour from {hours[0]:02}:00"
        return f"{rhythm} of {in_hours}" if rhythm else f"{_at_minutes(minutes)} of {in_hours}"
    in_hours = f"the hours {listed(_spans(hours, lambda hour: f'{hour:02}'))}"
    return f"{rhythm} in {in_hours}" if rhythm else f"{_at_minutes(minutes)} of {in_hours}"


def _rhythm(fields: CronFields) -> str:
    """`Every minute` or `Every 10 minutes`, when the minutes keep that distance across the hour."""
    if fields.minutes == MINUTE.full:
        return "Every minute"
    minutes = values_in(fields.minutes)
    step = minutes[1] - minutes[0] if len(minutes) > 1 else 0
    if step and minutes == list(range(0, 60, step)) and 60 % step == 0:
        return f"Every {step} minutes"
    return ""


def _at_minutes(minutes: list[int]) -> str:
    return f"At minute{'s' if len(minutes) > 1 else ''} {listed(_spans(minutes, str))}"


def _days(fields: CronFields) -> str:
    any_date = fields.days == DAY_OF_MONTH.full
    any_weekday = fields.weekdays == DAY_OF_WEEK.full
    if fields.both_days:
        if any_date:
            return "" if any_weekday else f"on {weekday_text(fields)}"
        if any_weekday:
            return f"on {date_text(fields)}"
        return f"on {weekday_text(fields)} when it is also {date_text(fields)}"
    if any_date or any_weekday:
        return ""
    return f"on {date_text(fields)} or on {weekday_text(fields)}"


def _months(fields: CronFields) -> str:
    if fields.months == MONTH.full:
        return ""
    return "in " + listed(_spans(values_in(fields.months), lambda month: MONTHS[month - 1]))


def _spans(values: Sequence[int], word: Callable[[int], str]) -> list[str]:
    """Words for values, with runs of three and more as `a to b`."""
    spans: list[list[int]] = []
    for value in values:
        if spans and value == spans[-1][-1] + 1:
            spans[-1].append(value)
        else:
            spans.append([value])
    words: list[str] = []
    for span in spans:
        ends = f"{word(span[0])} to {word(span[-1])}"
        words += [ends] if len(span) > 2 else [word(value) for value in span]
    return words


def _is_cycle(values: list[int], high: int) -> bool:
    """Five and more values in equal steps above 1 that go on to the end of the field."""
    if len(values) < 5:
        return False
    step = values[1] - values[0]
    return step > 1 and values == list(range(values[0], high + 1, step))


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _duration(seconds: int) -> str:
    for words, length in SECONDS_OF_WORD.items():
        if seconds % length == 0:
            amount = seconds // length
            return words.removesuffix("s") if amount == 1 else f"{amount} {words}"
    raise AssertionError("one second divides every whole number of seconds")


def _instant(second: int) -> str:
    return _iso(EPOCH + timedelta(seconds=second))


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
