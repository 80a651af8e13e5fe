"""What a valid job definition is: every field, its rule and its default, in one place for all doors.

`validate_new_job` and `validate_edit` turn the words of a door into a `JobDefinition` or refuse with every
fault at once, each under the field's own name. They look at nothing but the values, the task registry and
the instant given; names taken by other jobs are the database's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from scheduler_app.clock import iso
from scheduler_app.domain.zones import check_zone
from scheduler_app.errors import ScheduleError, ValidationFailed
from scheduler_app.models.choices import ScheduleType
from scheduler_app.services.field_rules import shown
from scheduler_app.services.job_fields import DEFAULTS, RULES, choice, text
from scheduler_app.services.schedule_definition import (
    SCHEDULE_FIELDS,
    Faults,
    JobDefinition,
    refuse_other_type,
    refuse_past,
    schedule_value,
    with_schedule,
)
from scheduler_app.tasks.registry import get_task, unknown_task_message, validate_config

_KNOWN = (
    frozenset(RULES)
    | frozenset(SCHEDULE_FIELDS.values())
    | {
        "task",
        "config",
        "schedule_type",
        "schedule",
        "timezone",
    }
)


def validate_new_job(values: Mapping[str, object], *, now: datetime) -> JobDefinition:
    """The definition of a new job from what a door was given; missing fields take their defaults.

    Raises ValidationFailed with one FieldError a fault. A one-time instant that passed by more than the
    misfire grace is refused; within the grace it is due at once.
    """
    faults = Faults()
    complete = {**DEFAULTS, **values}
    if values.get("task") == "webhook" and "retry_jitter" not in values:
        complete["retry_jitter"] = "full"
    columns = _clean_columns(complete, faults)
    given = schedule_value(values, faults)
    faults.check()
    definition = with_schedule(columns, given, now, faults)
    refuse_past(definition, now, faults)
    faults.check()
    return definition


def validate_edit(
    values: Mapping[str, object], *, current: Mapping[str, object], now: datetime
) -> JobDefinition:
    """The definition after an edit: `current` column values overlaid with the fields in `values`.

    A change of the schedule type needs a value of the new type. Raises ValidationFailed.
    """
    faults = Faults()
    has_value = any(name in values for name in ("schedule", *SCHEDULE_FIELDS.values()))
    merged: dict[str, object] = {**current, **values}
    if has_value:
        merged = {name: value for name, value in merged.items() if name != "schedule"}
    columns = _clean_columns(merged, faults)
    if values.get("schedule_type", current["schedule_type"]) != current["schedule_type"] and not has_value:
        wanted = SCHEDULE_FIELDS.get(str(values["schedule_type"]), "schedule")
        faults.add(wanted, "required", f"is needed when the schedule type becomes {values['schedule_type']}")
    given = schedule_value(values, faults) if has_value else current["schedule"]
    if "schedule_type" not in values and has_value:
        refuse_other_type(values, str(current["schedule_type"]), faults)
    faults.check()
    moved = has_value and given != current["schedule"] and "anchor_at" not in values
    if moved and columns["schedule_type"] == ScheduleType.INTERVAL:
        columns["anchor_at"] = None
    definition = with_schedule(columns, given, now, faults)
    if has_value:
        refuse_past(definition, now, faults)
    faults.check()
    return definition


def _clean_columns(values: Mapping[str, object], faults: Faults) -> dict[str, object]:
    for name in values:
        if name not in _KNOWN:
            faults.add(
                name, "unknown_field", f"is not a field of a job; fields are {', '.join(sorted(_KNOWN))}"
            )
    columns = {
        field: faults.try_rule(field, rule, values.get(field, "" if field == "name" else None))
        for field, rule in RULES.items()
    }
    columns["timezone"] = _zone(values.get("timezone"), faults)
    columns["schedule_type"] = faults.try_rule(
        "schedule_type", choice(*ScheduleType.values), values.get("schedule_type")
    )
    columns["task"], columns["config"] = _task_and_config(values, faults)
    _check_window(columns, faults)
    return columns


def _zone(value: object, faults: Faults) -> object:
    name = faults.try_rule("timezone", text(64, required=True), value)
    if isinstance(name, str):
        try:
            check_zone(name)
        except ScheduleError as error:
            faults.add("timezone", error.code, error.message)
            return None
    return name


def _task_and_config(values: Mapping[str, object], faults: Faults) -> tuple[object, object]:
    task = values.get("task")
    config = values.get("config")
    if task is None or task == "":
        faults.add("task", "required", "is needed; choose one of those that `job catalog` lists")
        return None, None
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


def _check_window(columns: Mapping[str, object], faults: Faults) -> None:
    starts_at, ends_at = columns["starts_at"], columns["ends_at"]
    if isinstance(starts_at, datetime) and isinstance(ends_at, datetime) and ends_at <= starts_at:
        faults.add("ends_at", "window", f"must be after starts_at ({iso(starts_at)}), got {iso(ends_at)}")
