"""The commands as processes of their own: exit codes, a database that is away, bytes, pipes, two at once."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scheduler_app.models import Execution, Heartbeat, Job
from tests.queries.rows import make_execution, make_job
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 60

pytestmark = pytest.mark.processes

Environment = Callable[..., dict[str, str]]


def _start(environment: dict[str, str], *words: str | bytes) -> subprocess.Popen[str]:
    command = [sys.executable, "manage.py", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def _run(environment: dict[str, str], *words: str | bytes) -> tuple[int, str, str]:
    process = _start(environment, *words)
    out, err = process.communicate(timeout=DEADLINE_SECONDS)
    return process.returncode, out, err


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_exit_codes_are_those_of_the_documentation(child_environment: Environment) -> None:
    environment = child_environment()

    assert _run(environment, "job", "list")[0] == 0
    code, out, err = _run(environment, "job", "add", "X", "not_a_real_task", "interval", "--every", "30s")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert _run(environment, "job", "add", "X", "always_succeed", "weekly")[0] == 2
    assert not Job.objects.exists()


def test_options_of_django_are_taken_behind_the_verb_too(child_environment: Environment) -> None:
    settings = child_environment()["DJANGO_SETTINGS_MODULE"]

    assert _run(child_environment(), "job", "list", "--settings", settings, "--no-color")[0] == 0


@pytest.mark.parametrize("where", ["NAME", "--description", "--every", "--cli-secret"])
def test_bytes_that_are_not_utf_8_are_refused_without_a_traceback(
    child_environment: Environment, where: str
) -> None:
    name: str | bytes = b"a\xffb" if where == "NAME" else "X"
    every: str | bytes = b"3\xff0s" if where == "--every" else "30s"
    more = (where, b"\xff") if where in ("--description", "--cli-secret") else ()

    code, _, err = _run(
        child_environment(), "job", "add", name, "always_succeed", "interval", "--every", every, *more
    )

    assert code == 1
    assert f"{where}: holds bytes that are not UTF-8" in err and "Traceback" not in err
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("job", "list"),
        ("job", "trigger", "1"),
        ("execution", "list"),
        ("ensure_dev_user",),
        ("health",),
        ("demo", "single-fire"),
    ],
)
def test_without_a_database_a_command_ends_in_seconds_with_one_line_and_no_password(
    child_environment: Environment, words: tuple[str, ...]
) -> None:
    environment = child_environment(
        DJANGO_SETTINGS_MODULE="task_scheduler.test_settings_postgres",
        TEST_CHILD_DATABASE="postgres://somebody:hush-hush@127.0.0.1:1/nowhere",
    )
    started = time.monotonic()

    code, out, err = _run(environment, *words)

    assert code == 1
    assert time.monotonic() - started < 20
    assert err.count("\n") == 1 and "Traceback" not in err
    assert "hush-hush" not in out + err and "somebody" not in out + err
    assert "127.0.0.1:1" in out + err


def test_a_database_that_accepts_and_says_nothing_is_given_up(
    child_environment: Environment, silent_server: int
) -> None:
    environment = child_environment(
        DJANGO_SETTINGS_MODULE="task_scheduler.test_settings_postgres",
        TEST_CHILD_DATABASE=f"postgres://somebody:hush-hush@127.0.0.1:{silent_server}/nowhere",
    )

    code, _, err = _run(environment, "job", "list")

    assert code == 1 and "does not answer" in err and "hush-hush" not in err
    assert _run(environment, "health")[0] == 1


def test_a_database_without_tables_is_told_to_be_migrated(
    child_environment: Environment, tmp_path: Path
) -> None:
    environment = child_environment(
        DJANGO_SETTINGS_MODULE="task_scheduler.test_settings",
        TEST_CHILD_DATABASE=str(tmp_path / "empty.sqlite3"),
    )

    code, _, err = _run(environment, "job", "list")

    assert (code, err.count("\n")) == (1, 1)
    assert "manage.py migrate" in err
    assert "migrations" in _run(environment, "health")[2]


def test_two_retries_at_once_make_one_row(child_environment: Environment) -> None:
    failed = make_execution(make_job(), "failed")
    both = [_start(child_environment(), "execution", "retry", str(failed.pk)) for _ in range(2)]

    answers = [process.communicate(timeout=DEADLINE_SECONDS) for process in both]

    assert sorted(process.returncode for process in both) == [0, 1], answers
    assert Execution.objects.filter(retry_of=failed).count() == 1
    assert "Traceback" not in answers[0][1] + answers[1][1]


def test_a_reader_that_has_seen_enough_is_no_error(child_environment: Environment) -> None:
    for _ in range(600):
        make_job(name=f"{'long name ' * 15}{_}")
    process = _start(child_environment(), "job", "list", "--limit", "1000")
    assert process.stdout is not None and process.stderr is not None

    process.stdout.readline()
    process.stdout.close()

    assert process.stderr.read() == ""
    assert process.wait(DEADLINE_SECONDS) == 0


def test_json_is_the_only_thing_on_stdout(child_environment: Environment) -> None:
    words = ("job", "add", "Täglich", "always_succeed", "interval", "--every", "1h")
    more = ("--misfire-policy", "catch_up", "--format", "json")

    code, out, err = _run(child_environment(PYTHONIOENCODING="ascii"), *words, *more)

    assert code == 0 and "warning" in err
    assert json.loads(out)["name"] == "Täglich"


@pytest.mark.postgresql
def test_the_single_fire_demonstration_holds_and_leaves_no_job_and_no_process(
    child_environment: Environment,
) -> None:
    words = ("demo", "single-fire", "--processes", "3", "--seconds", "4", "--format", "json")

    code, out, err = _run(child_environment(), *words)

    assert code == 0, err
    evidence = json.loads(out)
    assert evidence["holds"] is True
    assert evidence["rows"] == evidence["slots_due"] >= 2
    assert (evidence["processes"], evidence["alive_at_the_end"]) == (3, 3)
    assert not Job.objects.filter(deleted_at__isnull=True).exists()
    assert Execution.objects.filter(job_id=evidence["job_id"]).count() == evidence["rows"]


@pytest.mark.postgresql
def test_an_interrupted_demonstration_cleans_up(child_environment: Environment) -> None:
    process = _start(child_environment(), "demo", "single-fire", "--processes", "2", "--seconds", "300")
    wait_until(lambda: Job.objects.filter(enabled=True).exists(), 30, "the job of the demonstration is due")
    pids = list(Heartbeat.objects.values_list("pid", flat=True))

    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=DEADLINE_SECONDS)

    assert process.returncode == 130 and "Traceback" not in err
    assert len(pids) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not Job.objects.filter(deleted_at__isnull=True).exists()


def test_the_demonstration_refuses_the_try_out_store(child_environment: Environment, tmp_path: Path) -> None:
    environment = child_environment(
        DJANGO_SETTINGS_MODULE="task_scheduler.test_settings",
        TEST_CHILD_DATABASE=str(tmp_path / "try-out.sqlite3"),
    )

    code, out, err = _run(environment, "demo", "single-fire")

    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "PostgreSQL" in err and "DATABASE_URL" in err
