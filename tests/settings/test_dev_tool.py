"""dev.py says in one line what is missing, before it changes anything."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT


def _dev(*arguments: str, python: str = sys.executable, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    command = [python, "dev.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def _one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_without_a_verb_it_lists_its_verbs() -> None:
    done = _dev()

    assert done.returncode == 2
    assert [line.split()[0] for line in done.stderr.splitlines()[1:]] == [
        "run",
        "test",
        "check",
        "demo",
        "lock",
    ]


def test_a_taken_port_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        message = _one_line(_dev("run", PORT=str(port)))

    assert f"port {port} cannot be used" in message and "PORT=" in message


@pytest.mark.parametrize("port", ["abc", "0", "70000", "-1", "80 80"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    assert "a whole number from 1 to 65535" in _one_line(_dev("run", PORT=port))


def _old_python() -> str | None:
    candidates = [shutil.which(f"python3.{minor}") for minor in range(4, 11)]
    candidates += [str(path) for path in Path.home().glob(".pyenv/versions/3.[4-9].*/bin/python3")]
    probe = "import sys; sys.exit(sys.version_info >= (3, 11))"
    for python in filter(None, candidates):
        if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode == 0:
            return python
    return None


def test_an_old_python_is_told_what_is_needed(tmp_path: Path) -> None:
    python = _old_python()
    if python is None:
        pytest.skip("needs a Python older than 3.11 on PATH or from pyenv")
    shutil.copy(ROOT / "dev.py", tmp_path)
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    command = [python, "dev.py", "run"]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = str(probe.getsockname()[1])

    done = subprocess.run(
        command, cwd=tmp_path, env={"PATH": "", "PORT": free}, capture_output=True, text=True, check=False
    )

    assert "Python 3.11 or newer is needed" in _one_line(done)
