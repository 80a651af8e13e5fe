"""What a valid job definition is: every field, its rule and its default, in one place for all doors.

`validate_new_job` and `validate_edit` turn the words of a door into a `JobDefinition` or refuse with every
fault at once, each under the field's own name. They look at nothing but the values, the task registry and
the instant given; names taken by other jobs are the database's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduler_app.clock import iso, whole_second
from scheduler_app.domain.durations import format_every, parse_every
from scheduler_app.domain.occurrences import Schedule, compile_schedule, parse_run_at
from scheduler_app.domain.zones import check_zone
from scheduler_app.errors import FieldError, ScheduleError, ValidationFailed
from scheduler_app.models.choices import (
    AlertMode,
    DstPolicy,
    MisfirePolicy,
    OnLostWorker,
    OverlapPolicy,
    RetryBackoff,
    RetryJitter,
    ScheduleType,
)
from scheduler_app.services.field_rules import (
    Refused,
    clean_boolean,
    clean_choice,
    clean_instant,
    clean_integer,
    clean_text,
    clean_word,
    clean_words,
    shown,
)
from scheduler_app.tasks.registry import get_task, unknown_task_message, validate_config

SECONDS_A_YEAR = 31_536_000
NAME_LIMIT = 200

_Rule = Callable[[object], object]


def _text(maximum: int, *, required: bool = False, lines: bool = False) -> _Rule:
    return lambda value: clean_text(value, maximum=maximum, required=required, lines=lines)


def _whole(minimum: int, maximum: int) -> _Rule:
    return lambda value: clean_integer(value, minimum=minimum, maximum=maximum)


def _choice(*words: str) -> _Rule:
    return lambda value: clean_choice(value, choices=words)


def _optional(rule: _Rule) -> _Rule:
    return lambda value: None if value is None or value == "" else rule(value)


RULES: dict[str, _Rule] = {
    "name": _text(NAME_LIMIT, required=True),
    "key": _optional(_text(200, required=True)),
    "description": _text(10_000, lines=True),
    "dst_policy": _choice(*DstPolicy.values),
    "starts_at": _optional(clean_instant),
    "ends_at": _optional(clean_instant),
    "anchor_at": _optional(clean_instant),
    "overlap_policy": _choice(*OverlapPolicy.values),
    "queue_limit": _whole(1, 100_000),
    "misfire_policy": _choice(*MisfirePolicy.values),
    "misfire_grace_seconds": _whole(0, SECONDS_A_YEAR),
    "max_attempts": _whole(1, 100),
    "retry_backoff": _choice(*RetryBackoff.values),
    "retry_backoff_seconds": _whole(0, SECONDS_A_YEAR),
    "retry_max_delay_seconds": _whole(0, SECONDS_A_YEAR),
    "retry_jitter": _choice(*RetryJitter.values),
    "timeout_seconds": _whole(1, 7 * 86_400),
    "on_lost_worker": _choice(*OnLostWorker.values),
    "alert_mode": _choice(*AlertMode.values),
    "retention_count": _whole(0, 1_000_000),
    "retention_days": _whole(0, 3_650),
    "queue": lambda value: clean_word(value, maximum=64),
    "priority": _whole(-1_000, 1_000),
    "labels": lambda value: clean_words(value, maximum_items=20, maximum=64),
    "enabled": clean_boolean,
}
DEFAULTS: dict[str, object] = {
    "key": None,
    "description": "",
    "config": {},
    "timezone": "UTC",
    "dst_policy": "auto",
    "starts_at": None,
    "ends_at": None,
    "anchor_at": None,
    "overlap_policy": "skip",
    "queue_limit": 1_000,
    "misfire_policy": "coalesce",
    "misfire_grace_seconds": 60,
    "max_attempts": 3,
    "retry_backoff": "exponential",
    "retry_backoff_seconds": 30,
    "retry_max_delay_seconds": 3_600,
    "retry_jitter": "none",
    "timeout_seconds": 300,
    "on_lost_worker": "retry",
    "alert_mode": "web",
    "retention_count": 1_000,
    "retention_days": 30,
    "queue": "default",
    "priority": 0,
    "labels": [],
    "enabled": True,
}
# The text field that gives each schedule type its value, and the key it has in the stored object.
SCHEDULE_FIELDS = {"one_time": "run_at", "interval": "every", "cron": "cron"}
SCHEDULE_KEYS = {"one_time": "run_at", "interval": "every", "cron": "expression"}
_KNOWN = frozenset(RULES) | frozenset(SCHEDULE_FIELDS.values()) | {
    "task",
    "config",
    "schedule_type",
    "schedule",
    "timezone",
}


@dataclass(frozen=True, slots=True)
class JobDefinition:
    """Clean column values of a job, and the compiled schedule they describe."""

    columns: dict[str, object]
    schedule: Schedule


class _Faults:
    """Collects refusals, so that a person sees all of them at once."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def add(self, field: str, code: str, message: str) -> None:
        self.errors.append(FieldError(field, code, message))

    def try_rule(self, field: str, rule: _Rule, value: object) -> object:
        try:
            return rule(value)
        except Refused as refused:
            self.add(field, refused.code, refused.message)
            return None

    def check(self) -> None:
        if self.errors:
            raise ValidationFailed(self.errors)


def validate_new_job(values: Mapping[str, object], *, now: datetime) -> JobDefinition:
    """The definition of a new job from what a door was given; missing fields take their defaults.

    Raises ValidationFailed with one FieldError a fault. A one-time instant that passed by more than the
    misfire grace is refused; within the grace it is due at once.
    """
    faults = _Faults()
    complete = {**DEFAULTS, **values}
    if values.get("task") == "webhook" and "retry_jitter" not in values:
        complete["retry_jitter"] = "full"
    columns = _clean_columns(complete, faults)
    given = _schedule_value(values, faults)
    faults.check()
    definition = _with_schedule(columns, given, now, faults)
    _refuse_past(definition, now, faults)
    faults.check()
    return definition


def validate_edit(
    values: Mapping[str, object], *, current: Mapping[str, object], now: datetime
) -> JobDefinition:
    """The definition after an edit: `current` column values overlaid with the fields in `values`.

    A change of the schedule type needs a value of the new type. Raises ValidationFailed.
    """
    faults = _Faults()
    has_value = any(name in values for name in ("schedule", *SCHEDULE_FIELDS.values()))
    merged: dict[str, object] = {**current, **values}
    if has_value:
        merged = {name: value for name, value in merged.items() if name != "schedule"}
    columns = _clean_columns(merged, faults)
    if values.get("schedule_type", current["schedule_type"]) != current["schedule_type"] and not has_value:
        wanted = SCHEDULE_FIELDS.get(str(values["schedule_type"]), "schedule")
        faults.add(wanted, "required", f"is needed when the schedule type becomes {values['schedule_type']}")
    given = _schedule_value(values, faults) if has_value else current["schedule"]
    if "schedule_type" not in values and has_value:
        _refuse_other_type(values, str(current["schedule_type"]), faults)
    faults.check()
    moved = has_value and given != current["schedule"] and "anchor_at" not in values
    if moved and columns["schedule_type"] == ScheduleType.INTERVAL:
        columns["anchor_at"] = None
    definition = _with_schedule(columns, given, now, faults)
    if has_value:
        _refuse_past(definition, now, faults)
    faults.check()
    return definition


def _clean_columns(values: Mapping[str, object], faults: _Faults) -> dict[str, object]:
    for name in values:
        if name not in _KNOWN:
            faults.add(name, "unknown_field", f"is not a field of a job; fields are {', '.join(sorted(_KNOWN))}")
    columns = {
        field: faults.try_rule(field, rule, values.get(field, "" if field == "name" else None))
        for field, rule in RULES.items()
    }
    columns["timezone"] = _zone(values.get("timezone"), faults)
    columns["schedule_type"] = faults.try_rule(
        "schedule_type", _choice(*ScheduleType.values), values.get("schedule_type")
    )
    columns["task"], columns["config"] = _task_and_config(values, faults)
    _check_window(columns, faults)
    return columns


def _zone(value: object, faults: _Faults) -> object:
    name = faults.try_rule("timezone", _text(64, required=True), value)
    if isinstance(name, str):
        try:
            check_zone(name)
        except ScheduleError as error:
            faults.add("timezone", error.code, error.message)
            return None
    return name


def _task_and_config(values: Mapping[str, object], faults: _Faults) -> tuple[object, object]:
    task = values.get("task")
    config = values.get("config")
    if not isinstance(task, str) or get_task(task) is None:
        message = unknown_task_message(task) if isinstance(task, str) else f"must be text, got {shown(task)}"
        faults.add("task", "unknown_task", message)
        return None, None
    if not isinstance(config, dict):
        faults.add("config", "type", f'must be a JSON object such as {{"seconds": 5}}, got {shown(config)}')
        return task, None
    try:
        return task, validate_config(task, config)
    except ValidationFailed as failed:
        faults.errors.extend(failed.errors)
        return task, None


def _check_window(columns: Mapping[str, object], faults: _Faults) -> None:
    starts_at, ends_at = columns["starts_at"], columns["ends_at"]
    if isinstance(starts_at, datetime) and isinstance(ends_at, datetime) and ends_at <= starts_at:
        faults.add("ends_at", "window", f"must be after starts_at ({iso(starts_at)}), got {iso(ends_at)}")


def _schedule_value(values: Mapping[str, object], faults: _Faults) -> object:
    """The schedule as given: the stored object, or the text of exactly one of run_at, every, cron."""
    schedule_type = values.get("schedule_type")
    texts = {
        kind: values[field]
        for kind, field in SCHEDULE_FIELDS.items()
        if values.get(field) not in (None, "")
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
            faults.add(SCHEDULE_FIELDS[kind], "wrong_type", f"does not belong to a schedule of type {schedule_type}")
        return {SCHEDULE_KEYS[kind]: value}
    return given


def _refuse_other_type(values: Mapping[str, object], schedule_type: str, faults: _Faults) -> None:
    for kind, field in SCHEDULE_FIELDS.items():
        if values.get(field) not in (None, "") and kind != schedule_type:
            faults.add(field, "wrong_type", f"does not belong to a schedule of type {schedule_type}")


def _with_schedule(
    columns: dict[str, object], given: object, now: datetime, faults: _Faults
) -> JobDefinition:
    """Compile the schedule; its stored form is canonical (`5m`, UTC instants, the expression as typed)."""
    kind = str(columns["schedule_type"])
    field = SCHEDULE_FIELDS[kind]
    key = SCHEDULE_KEYS[kind]
    if not isinstance(given, dict):
        faults.add("schedule", "type", f'must be a JSON object such as {{"every": "30s"}}, got {shown(given)}')
        faults.check()
    assert isinstance(given, dict)
    for name in given:
        if name != key:
            faults.add("schedule", "unknown_key", f'{shown(name)} is not a key of a {kind} schedule; use "{key}"')
    if key not in given:
        faults.add("schedule", "required", f'a {kind} schedule needs the key "{key}"')
    faults.check()
    try:
        columns["schedule"] = {key: _canonical(kind, given[key], str(columns["timezone"]))}
        if kind == ScheduleType.INTERVAL and columns["anchor_at"] is None:
            columns["anchor_at"] = whole_second(now)
        schedule = compile_columns(columns)
    except ScheduleError as error:
        at_timezone = error.field == "timezone"
        message = error.message if error.field in (field, "timezone") else f"{error.field}: {error.message}"
        faults.add("timezone" if at_timezone else field, error.code, message)
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


def _refuse_past(definition: JobDefinition, now: datetime, faults: _Faults) -> None:
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
        faults.add(
            SCHEDULE_FIELDS[str(columns["schedule_type"])],
            "no_run",
            "has no run after now within starts_at and ends_at; widen the window or change the schedule",
        )
