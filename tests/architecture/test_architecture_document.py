"""The tree of docs/architecture.md names what stands in the two packages, and nothing else."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT, project_files


def _tree(package: str) -> set[str]:
    """The folders and files that the picture shows below `package/`."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    below = text.split(f"\n{package}/\n")[1].split("\n```")[0]
    lines = []
    for line in below.splitlines():
        if not line.startswith("  "):
            break
        lines.append(re.split(r"\s{2,}", line.strip())[0])
    return {name for line in lines for name in line.split()}


@pytest.mark.parametrize("package", ["scheduler_app", "task_scheduler"])
def test_the_picture_shows_every_folder_and_file_of_a_package(package: str) -> None:
    parts = [
        path.relative_to(ROOT / package).parts for path in project_files() if ROOT / package in path.parents
    ]
    there = {names[0] if len(names) == 1 else f"{names[0]}/" for names in parts} - {"__init__.py", "py.typed"}

    assert _tree(package) == there
