"""What the README tells a newcomer to type works as printed, in that order, on a fresh try-out store."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

# Nothing runs yet, so health says so; and the one line shows how wrong input is refused.
REFUSED = {"health": "schedulers", "not_a_real_task": "job catalog"}


def _lines() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## On the command line")[1].split("\n## ")[0]
    return re.findall(r"^python manage\.py (.+)$", section, flags=re.MULTILINE)


@pytest.mark.processes
def test_the_commands_of_the_readme_work_as_printed(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{tmp_path}/tryout.sqlite3"}

    def manage(line: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *shlex.split(line)]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    assert manage("migrate --verbosity 0").returncode == 0
    assert len(_lines()) >= 8
    for line in _lines():
        done = manage(line)
        reason = next((words for mark, words in REFUSED.items() if mark in line), None)
        assert done.returncode == (1 if reason else 0), f"{line}: {done.stdout}{done.stderr}"
        assert (reason or "") in done.stdout + done.stderr, line
        assert "Traceback" not in done.stderr, line
