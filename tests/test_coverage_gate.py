"""The coverage gate measures the whole package, and every place that states it states the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = "python -m pytest --cov=scheduler_app --cov-report=term-missing --cov-fail-under=93"


def test_readme_and_ci_run_the_same_gate() -> None:
    for name in ("README.md", ".ci/run"):
        assert COMMAND in (PROJECT / name).read_text(encoding="utf-8"), name


def test_no_module_with_logic_is_left_out_of_the_measure() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]

    assert settings["run"].get("omit", []) in ([], ["scheduler_app/migrations/*"])
    assert "omit" not in settings.get("report", {})
