"""Bad input at the command line: each line is refused with the field and the rule, and changes nothing.

One table. `{job}`, `{disabled}`, `{running}`, `{finished}` stand for ids of rows that are there; the codes
are 1 for what the program refuses and 2 for wrong usage.
"""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from scheduler_app.models import Event, Execution, Job, JobVersion
from tests.commands.running import run_cli
from tests.queries.rows import make_execution, make_job

pytestmark = pytest.mark.django_db

INTERVAL = ("X", "always_succeed", "interval", "--every", "30s")
SLEEP = ("X", "sleep_for_seconds", "interval", "--every", "30s", "--config")


def _interval(*more: str) -> tuple[str, ...]:
    return ("job", "add", *INTERVAL, *more)


def _every(value: str) -> tuple[str, ...]:
    return ("job", "add", "X", "always_succeed", "interval", f"--every={value}")


def _cron(value: str, *more: str) -> tuple[str, ...]:
    return ("job", "add", "X", "always_succeed", "cron", "--cron", value, *more)


def _run_at(value: str, *more: str) -> tuple[str, ...]:
    return ("job", "add", "X", "always_succeed", "one_time", "--run-at", value, *more)


def _sleep(config: str) -> tuple[str, ...]:
    return ("job", "add", *SLEEP, config)


REFUSED: list[tuple[str, tuple[str, ...], int, tuple[str, ...]]] = [
    ("BI-01", ("job", "add", "", *INTERVAL[1:]), 1, ("NAME", "empty")),
    ("BI-02", ("job", "add", "   ", *INTERVAL[1:]), 1, ("NAME", "empty")),
    ("BI-03", ("job", "add", "x" * 201, *INTERVAL[1:]), 1, ("NAME", "200", "201")),
    ("BI-04", ("job", "add", "a\x00b", *INTERVAL[1:]), 1, ("NAME", "must not contain NUL")),
    ("BI-06", ("job", "add", "a\udcffb", *INTERVAL[1:]), 1, ("NAME", "UTF-8")),
    ("BI-07", ("job", "add", "Taken ", *INTERVAL[1:]), 1, ("name", "{job}")),
    ("BI-07 case", ("job", "add", "tAkEn", *INTERVAL[1:]), 1, ("name", "{job}")),
    ("BI-08", ("job", "add", "X", "not_a_real_task", *INTERVAL[2:]), 1, ("not_a_real_task", "job catalog")),
    ("BI-08 near", ("job", "add", "X", "always_suceed", *INTERVAL[2:]), 1, ("always_succeed", "job catalog")),
    ("BI-09", ("job", "add", "X", "always_succeed", "weekly"), 2, ("one_time", "interval", "cron")),
    ("BI-10", _every("0s"), 1, ("--every", "at least 1 second")),
    ("BI-11", _every("-5m"), 1, ("--every", "at least 1 second")),
    ("BI-12 a", _every("5"), 1, ("--every", "30s, 5m, 2h or 1d")),
    ("BI-12 b", _every("5x"), 1, ("--every", "30s, 5m, 2h or 1d")),
    ("BI-12 c", _every("m"), 1, ("--every", "30s, 5m, 2h or 1d")),
    ("BI-12 d", _every("5 m"), 1, ("--every", "30s, 5m, 2h or 1d")),
    ("BI-12 e", _every("1.5m"), 1, ("--every", "30s, 5m, 2h or 1d")),
    ("BI-13", ("job", "add", "X", "always_succeed", "cron", "--every", "30s"), 2, ("--every", "cron")),
    ("BI-14", _interval("--cron", "* * * * *"), 2, ("--cron", "--every")),
    ("BI-15", _cron("60 * * * *"), 1, ("--cron", "minute", "0 to 59")),
    ("BI-16", _cron("* * * *"), 1, ("--cron", "5", "4")),
    ("BI-17", _cron("*/0 * * * *"), 1, ("--cron", "minute")),
    ("BI-18", _cron("0 0 31 2 *"), 1, ("--cron", "no")),
    ("BI-19", _cron("@reboot"), 1, ("--cron", "@reboot")),
    (
        "BI-20",
        _interval("--timezone", "Mars/Olympus"),
        1,
        ("--timezone", "Mars/Olympus", "not a known time zone"),
    ),
    ("BI-21 a", _interval("--timezone", "../../etc/passwd"), 1, ("--timezone", "not a known time zone")),
    ("BI-21 b", _interval("--timezone", "/etc/localtime"), 1, ("--timezone", "not a known time zone")),
    ("BI-22", _interval("--timezone", "america/los_angeles"), 1, ("did you mean America/Los_Angeles",)),
    ("BI-23", _run_at("2026-13-01T00:00:00Z"), 1, ("--run-at", "2026-13-01T00:00:00Z")),
    ("BI-24", _run_at("tomorrow"), 1, ("--run-at", "tomorrow")),
    ("BI-25", _run_at("2001-01-01T00:00:00Z"), 1, ("--run-at", "in the past")),
    ("BI-27", _run_at("2099-01-01T00:00:00.500Z"), 1, ("--run-at",)),
    ("BI-28", ("job", "add", *INTERVAL[:3], "--schedule-value", '{"every": "30s"'), 2, ("line 1 column 16",)),
    ("BI-29", ("job", "add", *INTERVAL[:3], "--schedule-value", '{"evry": "30s"}'), 1, ("evry", "every")),
    ("BI-30", _sleep('{"seconds": -1}'), 1, ("--config seconds", "from 0", "-1")),
    ("BI-30 unknown", _sleep('{"second": 1}'), 1, ("--config second", "seconds")),
    ("BI-31", _sleep('{"seconds": "abc"}'), 1, ("--config seconds", "number")),
    ("BI-32", _sleep(json.dumps({"seconds": "x" * 65_600})), 1, ("--config", "65,536")),
    ("BI-33", _sleep('{"seconds": "\\u0000"}'), 1, ("--config", "u0000")),
    ("BI-34 a", _interval("--max-attempts", "0"), 1, ("--max-attempts", "at least 1")),
    ("BI-34 b", _interval("--max-attempts", "-1"), 1, ("--max-attempts", "at least 1")),
    ("BI-35", _interval("--max-attempts", "99999999999"), 1, ("--max-attempts", "at most 100")),
    ("BI-35 long", _interval("--max-attempts", "9" * 5000), 2, ("--max-attempts", "whole number")),
    ("BI-36 a", _interval("--timeout-seconds", "0"), 1, ("--timeout-seconds", "at least 1")),
    ("BI-36 b", _interval("--timeout-seconds", "-1"), 1, ("--timeout-seconds", "at least 1")),
    ("BI-36 c", _interval("--timeout-seconds", "abc"), 2, ("--timeout-seconds", "abc", "whole number")),
    ("BI-36 d", _interval("--timeout-seconds", "1_0"), 2, ("--timeout-seconds", "whole number")),
    ("BI-37", _interval("--retry-backoff-seconds", "-1"), 1, ("--retry-backoff-seconds", "at least 0")),
    ("BI-38", _interval("--misfire-grace-seconds", "-1"), 1, ("--misfire-grace-seconds", "at least 0")),
    ("BI-39 a", _interval("--overlap-policy", "SKIP"), 2, ("skip", "queue", "allow")),
    ("BI-39 b", _interval("--overlap-policy", "parallel"), 2, ("skip", "queue", "allow")),
    ("BI-41", ("job", "edit", "999999", "--name", "Y"), 1, ("no job 999999",)),
    ("BI-41 show", ("job", "show", "999999"), 1, ("no job 999999",)),
    ("BI-41 enable", ("job", "enable", "999999"), 1, ("no job 999999",)),
    ("BI-41 beyond", ("job", "disable", str(2**62)), 2, ("JOB_ID",)),
    ("BI-41 huge", ("job", "trigger", str(10**17)), 1, (f"no job {10**17}",)),
    ("BI-42 a", ("job", "edit", "abc", "--name", "Y"), 2, ("JOB_ID", "abc")),
    ("BI-42 b", ("job", "edit", "1.5", "--name", "Y"), 2, ("JOB_ID", "1.5")),
    ("BI-42 c", ("job", "edit", "0", "--name", "Y"), 2, ("JOB_ID", "0")),
    ("BI-43", ("job", "edit", "{job}", "--enabled", "--disabled"), 2, ("--enabled", "--disabled")),
    ("BI-44", ("job", "delete", "{job}"), 1, ("--yes", "nothing was deleted")),
    ("BI-45", ("job", "trigger", "{disabled}"), 1, ("disabled",)),
    ("BI-46", ("execution", "list", "--status", "nonsense"), 2, ("nonsense", "dead_lettered")),
    ("BI-47", ("execution", "retry", "{running}"), 1, ("{running}", "running")),
    ("BI-47 done", ("execution", "retry", "{finished}"), 1, ("{finished}", "succeeded")),
    ("BI-49 running", ("execution", "cancel", "{running}"), 1, ("{running}", "running")),
    ("BI-49 done", ("execution", "cancel", "{finished}"), 1, ("{finished}", "succeeded")),
    ("BI-50 a", ("worker", "run", "--workers", "0"), 2, ("--workers", "from 1")),
    ("BI-50 b", ("worker", "run", "--workers", "-1"), 2, ("--workers", "from 1")),
    ("BI-50 c", ("worker", "run", "--workers", "two"), 2, ("--workers", "two")),
    ("BI-51 a", ("scheduler", "run", "--tick-seconds", "0"), 2, ("--tick-seconds", "above 0")),
    ("BI-51 b", ("scheduler", "run", "--tick-seconds", "-1"), 2, ("--tick-seconds", "above 0")),
    ("BI-51 c", ("scheduler", "run", "--tick-seconds", "nan"), 2, ("--tick-seconds", "above 0")),
    ("BI-53 a", ("job", "preview", "{job}", "--count", "0"), 2, ("--count",)),
    ("BI-53 b", ("job", "preview", "{job}", "--count", "-1"), 2, ("--count",)),
    ("BI-53 c", ("job", "preview", "{job}", "--count", "1000000"), 2, ("--count", "1000")),
    ("no schedule", ("job", "add", *INTERVAL[:3]), 2, ("--every", "30s")),
    ("no arguments", ("job", "add"), 2, ("NAME", "TASK")),
    ("no verb", ("job",), 2, ("VERB",)),
    ("unknown verb", ("job", "explode"), 2, ("explode",)),
    ("not an object", _sleep("[1,2]"), 2, ("--config", "object")),
    ("not JSON", _sleep("not json"), 2, ("--config", "column 1")),
    ("NaN", _sleep('{"seconds": NaN}'), 2, ("--config", "NaN")),
    ("trailing comma", _sleep('{"seconds": 1,}'), 2, ("--config", "column 15")),
    ("single quotes", _sleep("{'seconds': 1}"), 2, ("--config", "column 2")),
    ("key twice", _sleep('{"seconds": 1, "seconds": 2}'), 2, ("--config", "seconds", "twice")),
    ("deep", _sleep('{"a":' * 20_000 + "1" + "}" * 20_000), 2, ("--config", "nested")),
    ("window without offset", _interval("--starts-at", "2026-01-01T00:00:00"), 1, ("--starts-at", "offset")),
    (
        "window backwards",
        _interval("--starts-at=2099-02-01T00:00Z", "--ends-at=2099-01-01T00:00Z"),
        1,
        ("--ends-at",),
    ),
    ("bad label", _interval("--label", "ok", "--label", "a b"), 1, ("--label", "a b")),
    ("broken label", _interval("--label", "a\udcff"), 1, ("--label", "UTF-8")),
    ("bad queue", _interval("--queue", "a b"), 1, ("--queue", "a b")),
    ("priority", _interval("--priority", "-1001"), 1, ("--priority", "-1,000")),
    ("abbreviated", _interval("--time", "UTC"), 2, ("--time",)),
    ("edit of nothing", ("job", "edit", "{job}"), 2, ("nothing to change",)),
    ("edit to other type", ("job", "edit", "{job}", "--schedule-type", "cron"), 2, ("--cron",)),
    ("edit with other option", ("job", "edit", "{job}", "--cron", "* * * * *"), 1, ("--cron", "interval")),
    (
        "edit of an old version",
        ("job", "edit", "{job}", "--name", "Y", "--expected-version", "9"),
        1,
        ("version",),
    ),
    ("list limit", ("job", "list", "--limit", "1001"), 2, ("--limit", "1000")),
    ("list cursor", ("job", "list", "--cursor", "nonsense"), 1, ("--cursor", "cursor")),
    ("executions cursor", ("execution", "list", "--cursor", "nonsense"), 1, ("--cursor", "cursor")),
    ("unknown execution", ("execution", "inspect", "999999"), 1, ("no execution 999999",)),
    ("retry of unknown", ("execution", "retry", "999999"), 1, ("no execution 999999",)),
    ("cancel of unknown", ("execution", "cancel", "999999"), 1, ("no execution 999999",)),
    ("demo of one", ("demo", "single-fire", "--processes", "1"), 2, ("--processes", "2")),
]


@pytest.fixture
def ids() -> dict[str, str]:
    job = make_job(name="Taken")
    rows = {
        "job": job,
        "disabled": make_job(enabled=False),
        "running": make_execution(job, "running"),
        "finished": make_execution(job, "succeeded"),
    }
    return {name: str(row.pk) for name, row in rows.items()}


def _filled(words: tuple[str, ...], ids: dict[str, str]) -> list[str]:
    """The words with `{job}` and the like replaced by the id."""
    return [ids.get(word[1:-1], word) if word.startswith("{") else word for word in words]


def _state() -> list[list[Any]]:
    models = (Job, JobVersion, Execution, Event)
    return [list(model.objects.order_by("pk").values_list()) for model in models]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "code", "told"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_it_is_refused_with_its_reason_and_changes_nothing(
    ids: dict[str, str], words: tuple[str, ...], code: int, told: tuple[str, ...]
) -> None:
    before = _state()
    started = time.monotonic()

    answer = run_cli(*_filled(words, ids))

    assert answer.code == code, answer
    assert [word for word in _filled(told, ids) if word not in answer.err] == [], answer.err
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert time.monotonic() - started < 1
    assert _state() == before


def test_markup_in_a_name_is_only_text() -> None:
    answer = run_cli("job", "add", "<script>alert(1)</script>", *INTERVAL[1:])

    assert answer.code == 0
    assert "<script>alert(1)</script>" in run_cli("job", "list").out


def test_a_one_time_job_in_a_gap_of_the_clock_shows_the_instant_chosen() -> None:
    answer = run_cli(*_run_at("2027-03-14T02:30:00", "--timezone", "America/New_York"))

    assert answer.code == 0, answer.err
    assert "2027-03-14T07:00:00Z" in answer.out
    assert "02:30 does not exist" in answer.err


MUTATING: list[tuple[str, ...]] = [
    _interval(),
    ("job", "edit", "{job}", "--name", "Y"),
    ("job", "enable", "{disabled}"),
    ("job", "disable", "{job}"),
    ("job", "delete", "{job}", "--yes"),
    ("job", "trigger", "{job}"),
    ("execution", "retry", "{finished}"),
    ("execution", "cancel", "{finished}"),
    ("demo", "single-fire"),
]


@pytest.mark.parametrize("words", MUTATING, ids=[" ".join(words[:2]) for words in MUTATING])
@pytest.mark.parametrize(
    "given", [(), ("--cli-secret", ""), ("--cli-secret", "wrong"), ("--cli-secret", "\udcff")]
)
def test_a_command_that_changes_something_needs_the_secret(
    ids: dict[str, str], cli_secret: str, words: tuple[str, ...], given: tuple[str, ...]
) -> None:
    before = _state()

    answer = run_cli(*_filled(words, ids), *given)

    assert answer.code == 1
    assert "--cli-secret" in answer.err and cli_secret not in answer.err
    assert _state() == before


def test_the_right_secret_opens_and_reading_needs_none(cli_secret: str) -> None:
    assert run_cli(*_interval("--cli-secret", cli_secret)).code == 0
    assert run_cli("job", "list").code == 0


def test_a_secret_nobody_asked_for_is_no_error(settings: Settings) -> None:
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, cli_secret="")

    assert run_cli(*_interval("--cli-secret", "anything")).code == 0
