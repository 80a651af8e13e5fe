"""The job form: typed texts become the `values` that services validate, and refusals go back to fields.

There is no rule of a job here. Digits become whole numbers, JSON becomes values; what cannot be read stays
the text it was, so that the one validator refuses it in its own words and the form shows it as typed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from django.http import QueryDict

from scheduler_app.errors import FieldError
from scheduler_app.models import Job
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
from scheduler_app.services.job_fields import DEFAULTS
from scheduler_app.services.schedule_definition import SCHEDULE_FIELDS
from scheduler_app.tasks.registry import Task, catalog, get_task
from scheduler_app.tasks.schema import ConfigField

LABELS: Mapping[str, str] = {
    "name": "Name",
    "task": "Task",
    "description": "Description",
    "config": "Settings of the task",
    "schedule_type": "Kind of schedule",
    "schedule": "Schedule",
    "every": "Every",
    "cron": "Cron expression",
    "run_at": "Run at",
    "timezone": "Time zone",
    "dst_policy": "Clock changes",
    "starts_at": "Not before",
    "ends_at": "Not after",
    "overlap_policy": "When the previous run is not finished",
    "queue_limit": "Longest line",
    "misfire_policy": "Runs found late",
    "misfire_grace_seconds": "Late after, seconds",
    "max_attempts": "Attempts",
    "retry_backoff": "Wait between attempts grows",
    "retry_backoff_seconds": "First wait, seconds",
    "retry_max_delay_seconds": "Longest wait, seconds",
    "retry_jitter": "Jitter",
    "timeout_seconds": "Time limit, seconds",
    "on_lost_worker": "When the worker is lost",
    "alert_mode": "Alerts",
    "retention_count": "Keep at most, executions",
    "retention_days": "Keep for, days",
    "queue": "Queue",
    "priority": "Priority",
    "labels": "Labels",
}
CHOICES: Mapping[str, list[tuple[str, str]]] = {
    "schedule_type": ScheduleType.choices,
    "dst_policy": DstPolicy.choices,
    "overlap_policy": [("skip", "Skip the new run"), ("queue", "Let it wait in line"), ("allow", "Run both")],
    "misfire_policy": MisfirePolicy.choices,
    "retry_backoff": [("exponential", "Doubles each time"), ("constant", "Stays the same")],
    "retry_jitter": [("none", "None"), ("full", "Random up to the wait")],
    "on_lost_worker": OnLostWorker.choices,
    "alert_mode": AlertMode.choices,
}
assert set(OverlapPolicy.values) == {value for value, _ in CHOICES["overlap_policy"]}
assert set(RetryBackoff.values) == {value for value, _ in CHOICES["retry_backoff"]}
assert set(RetryJitter.values) == {value for value, _ in CHOICES["retry_jitter"]}

_WHOLE = (
    "queue_limit",
    "misfire_grace_seconds",
    "max_attempts",
    "retry_backoff_seconds",
    "retry_max_delay_seconds",
    "timeout_seconds",
    "retention_count",
    "retention_days",
    "priority",
)
_TEXT = (
    "name",
    "task",
    "schedule_type",
    "timezone",
    "description",
    "dst_policy",
    "starts_at",
    "ends_at",
    "overlap_policy",
    "misfire_policy",
    "retry_backoff",
    "retry_jitter",
    "on_lost_worker",
    "alert_mode",
    "queue",
)
_UNDER_WRONG = _WHOLE[:6]
_UNDER_WRONG_CHOICES = (
    "overlap_policy",
    "misfire_policy",
    "retry_backoff",
    "retry_jitter",
    "on_lost_worker",
    "alert_mode",
)
_ALWAYS = ("name", "task", "schedule_type", "timezone")
_KINDS = {"integer": "whole", "number": "number", "boolean": "yesno", "string": "text"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}(\.[0-9]{1,19})?")


@dataclass(frozen=True, slots=True)
class BoundField:
    """One field as the page shows it: what was typed, what is wrong with it, what may be chosen."""

    name: str
    label: str
    value: str
    error: str = ""
    help: str = ""
    choices: list[tuple[str, str]] = field(default_factory=list)
    kind: str = "text"
    required: bool = False

    @property
    def id(self) -> str:
        """Id of the control; dots of config fields become dashes."""
        return f"id_{self.name.replace('.', '-')}"


@dataclass(frozen=True, slots=True)
class JobForm:
    """What was typed (or what is stored), and the refusals by field name."""

    typed: Mapping[str, str]
    errors: tuple[FieldError, ...] = ()

    def __getitem__(self, name: str) -> BoundField:
        """The field of this name. Raises KeyError, which lets templates go on to the properties."""
        value, error = self.typed.get(name, ""), self.error_of(name)
        return BoundField(name, LABELS[name], value, error, choices=CHOICES.get(name, []))

    def error_of(self, name: str) -> str:
        """The first refusal of a field, as a sentence."""
        for error in self.errors:
            if error.field == name:
                return _sentence(error.message)
        return ""

    @property
    def summary(self) -> list[tuple[str, str, str]]:
        """(id of the control, label, sentence) of every refusal."""
        shown = []
        for error in self.errors:
            target = f"id_{error.field.replace('.', '-')}"
            label = LABELS.get(error.field, error.field.removeprefix("config."))
            shown.append((target, label, error.message))
        return shown

    @property
    def task_choices(self) -> list[Task]:
        """All registered tasks."""
        return catalog()

    @property
    def chosen_task(self) -> Task | None:
        """The task that is chosen now."""
        return get_task(self.typed.get("task", ""))

    @property
    def config_fields(self) -> list[BoundField]:
        """The fields of the chosen task's config, with what was typed."""
        task = self.chosen_task
        return [self._config_field(one) for one in task.schema] if task else []

    @property
    def has_own_retry_settings(self) -> bool:
        """Whether anything under "If it goes wrong" differs from the defaults or was refused."""
        names = (*_UNDER_WRONG, *_UNDER_WRONG_CHOICES)
        refused = {error.field for error in self.errors}
        typed = {name: self.typed.get(name, "") for name in names}
        return any(name in refused or text not in ("", str(DEFAULTS[name])) for name, text in typed.items())

    def _config_field(self, one: ConfigField) -> BoundField:
        name = f"config.{one.name}"
        default = "" if one.default is None else _shown(one.default)
        kind = _KINDS.get(one.type, "json")
        choices = [("true", "Yes"), ("false", "No")] if kind == "yesno" else []
        if kind == "text" and (one.max_length or 0) > 500:
            kind = "long"
        value = self.typed.get(name, default)
        return BoundField(name, one.name, value, self.error_of(name), one.help, choices, kind, one.required)


def typed_in(data: QueryDict) -> dict[str, str]:
    """The texts of a request, last one of each name; config fields as `config.<name>`."""
    return {name: value for name, value in data.items() if isinstance(value, str)}


def empty_form(task: str = "") -> JobForm:
    """A new job with the defaults filled in."""
    left_out = ("config", "key", "labels", "enabled")
    typed = {name: _shown(value) for name, value in DEFAULTS.items() if name not in left_out}
    return JobForm({**typed, "schedule_type": "interval", "task": task})


def form_of(job: Job) -> JobForm:
    """A stored job as the form shows it."""
    typed = {name: _shown(getattr(job, name)) for name in (*_TEXT, *_WHOLE) if getattr(job, name) is not None}
    typed["labels"] = ", ".join(map(str, job.labels)) if isinstance(job.labels, list) else ""
    key = {"one_time": "run_at", "interval": "every", "cron": "expression"}[job.schedule_type]
    stored = job.schedule.get(key, "") if isinstance(job.schedule, dict) else ""
    typed[SCHEDULE_FIELDS[job.schedule_type]] = stored if isinstance(stored, str) else json.dumps(stored)
    if job.schedule_type == "one_time" and isinstance(stored, str):
        typed["run_at"] = _in_own_zone(stored, job.timezone)
    for name in ("starts_at", "ends_at"):
        at = getattr(job, name)
        typed[name] = at.isoformat().replace("+00:00", "Z") if at else ""
    if isinstance(job.config, dict):
        typed.update({f"config.{name}": _shown(value) for name, value in job.config.items()})
    return JobForm(typed)


def values_of(typed: Mapping[str, str], *, editing: bool = False) -> dict[str, object]:
    """What services validate: fields that were sent, and of the schedule texts the one of the chosen kind."""
    values: dict[str, object] = {}
    for name in _TEXT:
        if name in _ALWAYS or typed.get(name, "").strip():
            values[name] = typed.get(name, "") if name == "description" else typed.get(name, "").strip()
        elif editing and name in typed:
            values[name] = DEFAULTS.get(name, "")
    for name in _WHOLE:
        if typed.get(name, "").strip():
            values[name] = _whole_or_text(typed[name].strip())
    wanted = SCHEDULE_FIELDS.get(str(values["schedule_type"]))
    if wanted:
        values[wanted] = typed.get(wanted, "").strip()
    if "labels" in typed:
        values["labels"] = [word for word in re.split(r"[\s,]+", typed["labels"]) if word]
    if "enabled" in typed:
        values["enabled"] = typed["enabled"] not in ("0", "false")
    values["config"] = _config_of(typed)
    return values


def _config_of(typed: Mapping[str, str]) -> object:
    """The config object: the JSON text when one was sent, overlaid by the task's own fields."""
    config: object = {}
    if typed.get("config", "").strip():
        config = _json_or_text(typed["config"])
    if not isinstance(config, dict):
        return config
    task = get_task(typed.get("task", ""))
    for one in task.schema if task else ():
        text = typed.get(f"config.{one.name}")
        if text is not None and (text.strip() or one.type == "string"):
            config[one.name] = _config_value(one, text)
    return config


def _config_value(one: ConfigField, text: str) -> object:
    if one.type == "string":
        return text.replace("\r\n", "\n")
    if one.type == "boolean":
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if one.type == "integer":
        return _whole_or_text(text.strip())
    if one.type == "number":
        return _number_or_text(text.strip())
    return _json_or_text(text)


def _whole_or_text(text: str) -> object:
    return int(text) if _INTEGER.fullmatch(text) and text.isascii() else text


def _number_or_text(text: str) -> object:
    if not (_NUMBER.fullmatch(text) and text.isascii()):
        return text
    return float(text) if "." in text else int(text)


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _in_own_zone(stored: str, timezone: str) -> str:
    """A stored UTC instant as the local time of the job's zone with its offset."""
    try:
        return datetime.fromisoformat(stored).astimezone(ZoneInfo(timezone)).isoformat()
    except (ValueError, KeyError):
        return stored


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


def named(errors: Iterable[FieldError], message: str) -> tuple[FieldError, ...]:
    """The errors given, or one about the name when a service refused as a whole (a name or key taken)."""
    found = tuple(errors)
    return found or (FieldError("name", "taken", message.removeprefix("name: ")),)
