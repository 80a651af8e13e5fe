"""A file has one reason to exist, its name says it, and it stays small enough to read in one sitting."""

from __future__ import annotations

import ast

from tests.architecture.sources import ROOT, python_files, shown

FILE_LINES = 400
FUNCTION_LINES = 60
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "base", "stuff", "manager", "tools"}


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}

    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    too_long = {}
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    too_long[f"{shown(path)}:{node.name}"] = lines

    assert too_long == {}


def test_no_file_has_a_vague_name() -> None:
    assert [shown(path) for path in python_files() if path.stem.lower() in VAGUE] == []


def test_every_module_says_what_lives_in_it() -> None:
    silent = [
        shown(path)
        for path in python_files()
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert silent == []


def test_no_import_hides_inside_a_function() -> None:
    """An import in a function says that the thing sits one layer too high."""
    late = []
    for path in python_files():
        if not shown(path).startswith("scheduler_app/") or shown(path) == "scheduler_app/console.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                late += [
                    f"{shown(path)}:{inner.lineno} imports {inner.module}"
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("scheduler_app")
                ]

    assert late == []


def test_the_sizes_are_measured_on_real_files() -> None:
    assert ROOT / "scheduler_app" / "apps.py" in python_files()
