"""Imports point down only: the contracts of pyproject.toml hold."""

from __future__ import annotations

import subprocess
import sys

from tests.architecture.sources import ROOT


def test_the_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    done = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout
