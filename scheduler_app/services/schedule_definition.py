"""The schedule of a job definition: exactly one of run_at, every, cron, in a canonical stored form.

A schedule is accepted when it compiles and has a run left; the compiled form comes along, so that nobody
has to parse the text a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduler_app.clock import iso, whole_second
from scheduler_app.domain.durations import format_every, parse_every
from scheduler_app.domain.occurrences import Schedule, compile_schedule, parse_run_at
from scheduler_app.errors import FieldError, ScheduleError, ValidationFailed
from scheduler_app.models.choices import ScheduleType
from scheduler_app.services.field_rules import Refused, shown

# The text field that gives each schedule type its value, and the key it has in the stored object.
SCHEDULE_FIELDS = {"one_time": "run_at", "interval": "every", "cron": "cron"}
SCHEDULE_KEYS = {"one_time": "run_at", "interval": "every", "cron": "expression"}
_WRONG_TYPE = "does not belong to a schedule of type {wanted}; leave it out, or make the schedule_type {kind}"


@dataclass(frozen=True, slots=True)
class JobDefinition:
    """Clean column values of a job, and the compiled schedule they describe."""

    columns: dict[str, object]
    schedule: Schedule


class Faults:
    """Collects refusals, so that a person sees all of them at once."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def add(self, field: str, code: str, message: str) -> None:
        self.errors.append(FieldError(field, code, message))

    def try_rule(self, field: str, rule: Callable[[object], object], value: object) -> object:
        try:
            return rule(value)
        except Refused as refused:
            self.add(field, refused.code, refused.message)
            return None

    def check(self) -> None:
        if self.errors:
            raise ValidationFailed(self.errors)


def schedule_value(values: Mapping[str, object], faults: Faults) -> object:
    """The schedule as given: the stored object, or the text of exactly one of run_at, every, cron."""
    schedule_type = values.get("schedule_type")
    texts = {
        kind: values[field] for kind, field in SCHEDULE_FIELDS.items() if values.get(field) not in (None, "")
    }
    given = values.get("schedule")
    if given is not None and texts:
        faults.add("schedule", "conflict", "give either the schedule object or one of run_at, every, cron")
    elif len(texts) > 1:
        names = ", ".join(SCHEDULE_FIELDS[kind] for kind in texts)
        faults.add("schedule", "conflict", f"give exactly one of run_at, every, cron; got {names}")
    elif given is None and not texts:
        field = SCHEDULE_FIELDS.get(str(schedule_type), "schedule")
        faults.add(field, "required", "is needed: a job must say when it runs")
    elif texts:
        kind, value = next(iter(texts.items()))
        if schedule_type is not None and kind != schedule_type and schedule_type in SCHEDULE_FIELDS:
            faults.add(
                SCHEDULE_FIELDS[kind], "wrong_type", _WRONG_TYPE.format(wanted=schedule_type, kind=kind)
            )
        return {SCHEDULE_KEYS[kind]: value}
    return given


def refuse_other_type(values: Mapping[str, object], schedule_type: str, faults: Faults) -> None:
    for kind, field in SCHEDULE_FIELDS.items():
        if values.get(field) not in (None, "") and kind != schedule_type:
            faults.add(field, "wrong_type", _WRONG_TYPE.format(wanted=schedule_type, kind=kind))


def with_schedule(columns: dict[str, object], given: object, now: datetime, faults: Faults) -> JobDefinition:
    """Compile the schedule; its stored form is canonical (`5m`, UTC instants, the expression as typed)."""
    kind = str(columns["schedule_type"])
    field = SCHEDULE_FIELDS[kind]
    key = SCHEDULE_KEYS[kind]
    if not isinstance(given, dict):
        faults.add(
            "schedule", "type", f'must be a JSON object such as {{"every": "30s"}}, got {shown(given)}'
        )
        faults.check()
    assert isinstance(given, dict)
    for name in given:
        if name != key:
            faults.add(
                "schedule",
                "unknown_key",
                f'{shown(name)} is not a key of a schedule of type {kind}; use "{key}"',
            )
    if key not in given:
        faults.add("schedule", "required", f'a schedule of type {kind} needs the key "{key}"')
    faults.check()
    try:
        columns["schedule"] = {key: _canonical(kind, given[key], str(columns["timezone"]))}
        if kind == ScheduleType.INTERVAL and columns["anchor_at"] is None:
            columns["anchor_at"] = whole_second(now)
        schedule = compile_columns(columns)
    except ScheduleError as error:
        at_timezone = error.field == "timezone"
        faults.add("timezone" if at_timezone else field, error.code, error.message)
        faults.check()
        raise
    return JobDefinition(columns, schedule)


def _canonical(kind: str, value: object, timezone: str) -> object:
    if kind == ScheduleType.INTERVAL:
        return format_every(parse_every(value))
    if not isinstance(value, str):
        raise ScheduleError("type", SCHEDULE_FIELDS[kind], f"must be text, got {shown(value)}")
    if kind == ScheduleType.ONE_TIME:
        return iso(parse_run_at(value, timezone))
    return re.sub(r"[ \t]+", " ", value).strip(" ")


def compile_columns(columns: Mapping[str, object]) -> Schedule:
    """The compiled schedule of column values, from cache when the same definition was seen before.

    Raises ScheduleError when they describe none.
    """
    schedule = columns["schedule"]
    if not isinstance(schedule, Mapping):
        raise ScheduleError("type", "schedule", f"must be a JSON object, got {shown(schedule)}")
    instants = {name: columns[name] for name in ("anchor_at", "starts_at", "ends_at")}
    return compile_schedule(
        schedule_type=str(columns["schedule_type"]),
        schedule=schedule,
        timezone=str(columns["timezone"]),
        dst_policy=str(columns["dst_policy"]),
        **{name: value if isinstance(value, datetime) else None for name, value in instants.items()},
    )


def refuse_past(definition: JobDefinition, now: datetime, faults: Faults) -> None:
    """A job that can never run, or whose one instant passed beyond the grace, is refused."""
    columns = definition.columns
    grace = columns["misfire_grace_seconds"]
    assert isinstance(grace, int)
    earliest = now - timedelta(seconds=grace)
    if columns["schedule_type"] == ScheduleType.ONE_TIME:
        if definition.schedule.next(whole_second(earliest) - timedelta(seconds=1)) is None:
            schedule = columns["schedule"]
            assert isinstance(schedule, dict)
            faults.add(
                "run_at",
                "past",
                f"{schedule['run_at']} is more than {grace} s in the past (it is {iso(now)} now) or outside "
                "the window; give a later time",
            )
    elif definition.schedule.next(whole_second(now)) is None:
        ends_at = columns["ends_at"]
        over = isinstance(ends_at, datetime) and ends_at <= now
        faults.add(
            "ends_at" if over else SCHEDULE_FIELDS[str(columns["schedule_type"])],
            "no_run",
            "has no run after now within starts_at and ends_at; widen the window or change the schedule",
        )
