"""The options that say what a job is, shared by `job add` and `job edit`.

Each option carries the name its value has at every other door, so what a person typed goes to the service as
it is and a refused field comes back under its option. Rules and defaults are the service's.
"""

from __future__ import annotations

from argparse import ArgumentParser

from scheduler_app.management.arguments import json_object, whole_number
from scheduler_app.management.verbs import Options
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

SCHEDULE_OPTIONS = {
    ScheduleType.ONE_TIME.value: ("run_at", "--run-at", "2026-12-24T18:00:00"),
    ScheduleType.INTERVAL.value: ("every", "--every", "30s"),
    ScheduleType.CRON.value: ("cron", "--cron", '"0 9 * * 1-5"'),
}
_CHOICES: tuple[tuple[str, list[str], str], ...] = (
    ("--dst-policy", DstPolicy.values, "what a clock change does to a cron schedule (default auto)"),
    (
        "--overlap-policy",
        OverlapPolicy.values,
        "what becomes of a run that is due before the one before is over (default skip)",
    ),
    (
        "--misfire-policy",
        MisfirePolicy.values,
        "what becomes of runs found later than the grace (default coalesce)",
    ),
    ("--retry-backoff", RetryBackoff.values, "how the delay before a retry grows (default exponential)"),
    (
        "--retry-jitter",
        RetryJitter.values,
        "full draws the delay at random between 0 and its value (default none)",
    ),
    (
        "--on-lost-worker",
        OnLostWorker.values,
        "what becomes of an attempt whose worker is lost (default retry)",
    ),
    ("--alert-mode", AlertMode.values, "where alerts of the job go (default web)"),
)
_NUMBERS: tuple[tuple[str, str, str], ...] = (
    ("--misfire-grace-seconds", "SECONDS", "a run later than this counts as missed (default 60)"),
    ("--max-attempts", "COUNT", "attempts of one run, 1 means no retry (default 3)"),
    ("--retry-backoff-seconds", "SECONDS", "delay before the first retry (default 30)"),
    ("--retry-max-delay-seconds", "SECONDS", "longest delay before a retry (default 3600)"),
    ("--timeout-seconds", "SECONDS", "an attempt is killed after this time (default 300)"),
    ("--retention-count", "COUNT", "finished runs that are kept (default 1000)"),
    ("--retention-days", "DAYS", "days finished runs are kept (default 30)"),
    ("--queue-limit", "COUNT", "runs that may wait under overlap policy queue (default 1000)"),
    ("--priority", "NUMBER", "higher runs earlier, one step is worth a minute (default 0)"),
)
_INSTANTS: tuple[tuple[str, str], ...] = (
    ("--starts-at", "no run before this instant"),
    ("--ends-at", "no run after this instant"),
    ("--anchor-at", "an interval counts from this instant (default: when the job is made)"),
)


def _field_of(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


INSTANT = "YYYY-MM-DDTHH:MM:SSZ"
FIELDS = (
    "name",
    "task",
    "schedule_type",
    "schedule",
    "every",
    "cron",
    "run_at",
    "timezone",
    "description",
    "config",
    "labels",
    "key",
    "queue",
    "enabled",
    *(_field_of(option) for option, _, _ in _CHOICES),
    *(_field_of(option) for option, _, _ in _NUMBERS),
    *(_field_of(option) for option, _ in _INSTANTS),
)


def add_schedule_options(parser: ArgumentParser, *, editing: bool = False) -> None:
    """When the job runs: one of four spellings, and the zone they are read in."""
    group = parser.add_argument_group("when it runs")
    when = group.add_mutually_exclusive_group()
    when.add_argument("--every", metavar="INTERVAL", help="interval: 30s, 5m, 2h, 1d")
    when.add_argument("--cron", metavar="EXPRESSION", help='cron: five fields, such as "0 9 * * 1-5"')
    when.add_argument(
        "--run-at",
        metavar="DATETIME",
        help="one_time: 2026-12-24T18:00:00 on the clock of --timezone, or with Z or an offset",
    )
    when.add_argument(
        "--schedule-value",
        dest="schedule",
        type=json_object,
        metavar="JSON",
        help='as a JSON object: {"every": "30s"}, {"expression": "0 9 * * *"} or {"run_at": "…"}',
    )
    group.add_argument(
        "--timezone",
        metavar="ZONE",
        help=_help("IANA name, such as America/Los_Angeles (default UTC)", editing),
    )
    for option, text in _INSTANTS:
        group.add_argument(option, metavar=INSTANT, help=_help(text, editing))


def add_policy_options(parser: ArgumentParser, *, editing: bool = False) -> None:
    """What the job is given and how it is treated."""
    group = parser.add_argument_group("what it is and how it is treated")
    group.add_argument("--description", metavar="TEXT", help="what it is for")
    group.add_argument(
        "--config", type=json_object, metavar="JSON", help="config of the task; see `job catalog`"
    )
    for option, words, text in _CHOICES:
        group.add_argument(option, choices=words, help=_help(text, editing))
    for option, metavar, text in _NUMBERS:
        group.add_argument(option, type=whole_number, metavar=metavar, help=_help(text, editing))
    group.add_argument(
        "--queue",
        metavar="NAME",
        help=_help("queue that workers may choose by --queues (default: default)", editing),
    )
    group.add_argument(
        "--label", dest="labels", action="append", metavar="NAME", help="a label; repeat the option for more"
    )
    group.add_argument("--key", metavar="KEY", help="your own unique key of the job")


def _help(text: str, editing: bool) -> str:
    """An edit keeps what it does not name, so there the default is not told."""
    return text.partition(" (default")[0] if editing else text


def check_schedule_options(options: Options, schedule_type: str | None, *, required: bool) -> None:
    """Exit code 2 for the option of another schedule type, or (when `required`) for none at all."""
    if schedule_type is None:
        return
    parser: ArgumentParser = options["parser"]
    own, option, example = SCHEDULE_OPTIONS[schedule_type]
    for field, other, _ in SCHEDULE_OPTIONS.values():
        if options[field] is not None and field != own:
            parser.error(
                f"argument {other}: does not belong to a schedule of type {schedule_type}; give {option}"
            )
    if required and options[own] is None and options["schedule"] is None:
        parser.error(f"a schedule of type {schedule_type} needs {option} {example} (or --schedule-value)")


def job_values(options: Options) -> dict[str, object]:
    """What was given, by the names of the fields."""
    return {field: options[field] for field in FIELDS if options.get(field) is not None}
