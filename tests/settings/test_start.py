"""A process with a wrong environment ends with one line; with a right one it has the settings asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from task_scheduler.databases import from_url, postgresql
from task_scheduler.environment import BadEnvironment
from tests.architecture.sources import ROOT


def _manage(*arguments: str, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "task_scheduler.settings",
        **variables,
    }
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


PRODUCTION = {
    "DEBUG": "0",
    "SECRET_KEY": "Zk3v9QmX7tLr2WcY8nBf5HsJ4pDg6RaEuTiOqVwZk3v9QmX7tLr2",
    "ALLOWED_HOSTS": "scheduler.example.org",
    "SECURE_COOKIES": "1",
}


@pytest.mark.parametrize(
    ("variables", "shown", "hidden"),
    [
        ({"LEASE_SECONDS": "soon"}, "LEASE_SECONDS='soon'", "Traceback"),
        ({"DATABASE_URL": "mysql://me:hunter2@host/db"}, "DATABASE_URL=(value not shown)", "hunter2"),
        ({"DATABASE_URL": "postgres://me:hunter2@host:port/db"}, "DATABASE_URL=(value not shown)", "hunter2"),
        ({"DATABASE_URL": "postgres://me:hunter2@host:5432"}, "DATABASE_URL=(value not shown)", "hunter2"),
        ({"DEBUG": "0"}, "SECRET_KEY=(value not shown)", "Traceback"),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_line(
    variables: dict[str, str], shown: str, hidden: str
) -> None:
    done = _manage("check", **variables)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert shown in done.stderr and hidden not in done.stderr


def test_the_deployment_check_is_clean_with_a_production_environment() -> None:
    done = _manage("check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)

    assert done.returncode == 0, done.stderr


def test_a_task_module_that_cannot_be_found_is_an_error_with_a_hint() -> None:
    done = _manage("check", SCHEDULER_TASK_MODULES="no_such_module_anywhere")

    assert done.returncode == 1
    assert "scheduler_app.E001" in done.stderr and "HINT" in done.stderr and "Traceback" not in done.stderr


def test_an_environment_file_in_the_project_is_not_loaded(tmp_path: Path) -> None:
    for folder in ("scheduler_app", "task_scheduler"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "manage.py", tmp_path)
    (tmp_path / ".env").write_text("LEASE_SECONDS=77\n")
    code = "from django.conf import settings; print(settings.SCHEDULER.lease_seconds)"

    done = _manage("shell", "--no-imports", "-c", code, folder=tmp_path)

    assert done.stdout.strip() == "60", done.stderr


def test_log_lines_are_json_on_stderr_in_production() -> None:
    code = "import logging; logging.getLogger('acme').warning('hello %s', 'there')"

    done = _manage("shell", "--no-imports", "-c", code, **PRODUCTION)

    assert '"event": "hello there"' in done.stderr and '"level": "warning"' in done.stderr
    assert done.stdout == ""


def test_postgresql_gets_nothing_that_a_transaction_pooler_refuses() -> None:
    settings = postgresql("postgresql://me:p%40ss@host:5432/name?sslmode=require")

    assert settings["PASSWORD"] == "p@ss"
    assert settings["OPTIONS"]["application_name"] == "task-scheduler"
    assert settings["OPTIONS"]["sslmode"] == "require"
    assert "options" not in settings["OPTIONS"]
    assert settings["DISABLE_SERVER_SIDE_CURSORS"] and settings["CONN_HEALTH_CHECKS"]
    assert "ATOMIC_REQUESTS" not in settings or settings["ATOMIC_REQUESTS"] is False


def test_an_address_of_sqlite_names_a_file(tmp_path: Path) -> None:
    settings = from_url(f"sqlite:///{tmp_path}/jobs.sqlite3", sqlite_file=tmp_path / "other")

    assert settings["NAME"] == f"{tmp_path}/jobs.sqlite3"
    assert settings["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_an_address_of_sqlite_without_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadEnvironment, match="names no file"):
        from_url("sqlite://host", sqlite_file=tmp_path / "other")


def test_startup_options_in_the_address_are_refused() -> None:
    with pytest.raises(BadEnvironment, match="transaction pooler"):
        postgresql("postgres://me:secret@host/name?options=-c%20statement_timeout%3D5")


def test_probes_answer_over_plain_http_while_pages_are_sent_to_tls() -> None:
    code = (
        "from django.test import Client; client = Client(headers={'host': 'scheduler.example.org'});"
        "print(client.get('/healthz').status_code, client.get('/login/').headers.get('Location'))"
    )

    done = _manage("shell", "--no-imports", "-c", code, **PRODUCTION)

    assert done.stdout.strip() == "200 https://scheduler.example.org/login/", done.stderr
