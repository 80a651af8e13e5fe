"""The words of the installed command `scheduler` become the words of manage.py."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scheduler_app.console import to_management
from tests.architecture.sources import ROOT


@pytest.mark.parametrize(
    ("typed", "passed_on"),
    [
        ("run --once", "scheduler run --once"),
        ("next --format json", "scheduler next --format json"),
        ("serve --port 9000", "scheduler serve --port 9000"),
        ("migrate", "migrate"),
        ("worker", "scheduler loops"),
        ("worker --workers 4", "scheduler loops --workers 4"),
        ("worker run --workers 4", "worker run --workers 4"),
        ("job list", "job list"),
        ("", ""),
    ],
)
def test_short_names_are_for_processes_and_all_else_is_passed_on(typed: str, passed_on: str) -> None:
    assert to_management(typed.split()) == passed_on.split()


def test_the_installed_command_runs_a_management_command() -> None:
    code = "import sys; from scheduler_app.console import main; sys.argv = ['scheduler', 'check']; main()"
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout
