"""Tests wait for a condition with a deadline (tests/waiting.py), never for a fixed time."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.sources import python_files, shown


def _sleeps(path: Path) -> list[int]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "sleep" and isinstance(node.value, ast.Name):
            lines += [node.lineno] if node.value.id == "time" else []
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            lines += [node.lineno for name in node.names if name.name == "sleep"]
    return sorted(lines)


def _holds_tasks(path: Path) -> bool:
    """Tasks that hang on purpose: there the sleep is the work, not the wait."""
    return not path.name.startswith("test_") and "@task(" in path.read_text(encoding="utf-8")


def test_no_test_sleeps_for_a_fixed_time() -> None:
    files = [path for path in python_files() if shown(path).startswith("tests/")]
    found = {shown(path): _sleeps(path) for path in files if not _holds_tasks(path)}

    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_sleep_would_be_found(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text("import time\ntime.sleep(1)\nfrom time import sleep\n")

    assert _sleeps(sample) == [2, 3]
