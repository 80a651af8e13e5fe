"""What is installed is what stands in the repository, and every dependency says why it is there."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.architecture.sources import ROOT, python_files


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _requirements(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-"))]


def test_the_listed_packages_are_the_folders_with_code() -> None:
    listed = set(_pyproject()["tool"]["setuptools"]["packages"])
    folders = {path.parent.relative_to(ROOT) for path in python_files()} | {
        path.parent.relative_to(ROOT) for path in (ROOT / "scheduler_app").glob("migrations/__init__.py")
    }
    code = {
        ".".join(f.parts) for f in folders if f.parts and f.parts[0] in ("scheduler_app", "task_scheduler")
    }

    assert listed == code | {"task_scheduler.static", "task_scheduler.templates"}


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-tools.txt"])
def test_every_dependency_has_a_range_and_a_reason(name: str) -> None:
    without_reason = [line for line in _requirements(name) if not re.search(r"\s# \S", line)]

    assert without_reason == []


@pytest.mark.parametrize(
    ("stem", "ranges"), [("requirements", "requirements.txt"), ("requirements-dev", "requirements-tools.txt")]
)
def test_every_dependency_is_locked_with_hashes(stem: str, ranges: str) -> None:
    lock = (ROOT / f"{stem}.lock").read_text(encoding="utf-8")
    names = [re.match(r"[A-Za-z0-9_.-]+", line) for line in _requirements(ranges)]
    missing = [
        m.group() for m in names if m and not re.search(rf"^{re.escape(m.group())}==", lock, re.M | re.I)
    ]

    assert missing == []
    assert len(re.findall(r"^[a-z0-9].*==", lock, re.M)) <= lock.count("--hash=sha256:")


def test_no_two_versions_of_a_package_are_locked() -> None:
    runtime, dev = (
        dict(re.findall(r"^([a-z0-9_.-]+)==([^ ;\\]+)", (ROOT / lock).read_text(encoding="utf-8"), re.M))
        for lock in ("requirements.lock", "requirements-dev.lock")
    )

    assert {
        name: (version, dev.get(name)) for name, version in runtime.items() if dev.get(name) != version
    } == {}


def test_the_development_requirements_are_the_ranges_and_the_tools() -> None:
    lines = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if not line.startswith("#")] == [
        "-r requirements.txt",
        "-r requirements-tools.txt",
    ]
