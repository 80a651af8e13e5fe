"""`.env.example` and docs/configuration.md say of each variable what the code says."""

from __future__ import annotations

import re

from task_scheduler.environment import variables
from tests.architecture.sources import ROOT, python_files, shown

READERS = {"task_scheduler/environment.py", "task_scheduler/test_settings.py"}
HANDING_ON = (
    "scheduler_app/runtime/",
    "scheduler_app/console.py",
    "task_scheduler/wsgi.py",
    "scheduler_app/management/",
)


def test_the_example_lists_every_variable_with_default_and_meaning() -> None:
    product = (ROOT / ".env.example").read_text(encoding="utf-8").split("# --- tools and tests")[0]
    entries = re.findall(r"^# (.+)\n([A-Z_]+)=(.*)$", product, flags=re.MULTILINE)

    expected = [(f"{v.meaning} ({v.accepted})", v.name, v.default) for v in variables()]
    assert [(meaning, name, default) for meaning, name, default in entries] == expected


def test_the_table_of_the_documentation_equals_the_code() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*) \| (.*) \| (.*) \|$", text, flags=re.MULTILINE)

    expected = [
        (v.name, f"`{v.default}`" if v.default else "empty", v.accepted, v.meaning) for v in variables()
    ]
    assert rows == expected


def test_secrets_are_marked_in_the_documentation() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    sentence = next(line for line in text.splitlines() if line.startswith("Secrets:"))

    assert re.findall(r"`([A-Z_]+)`", sentence) == [v.name for v in variables() if v.secret]


def test_only_one_module_reads_the_environment() -> None:
    outside = [
        shown(path)
        for path in python_files()
        if shown(path).startswith(("scheduler_app/", "task_scheduler/"))
        and shown(path) not in READERS
        and not shown(path).startswith(HANDING_ON)
        and re.search(r"os\.environ|os\.getenv", path.read_text(encoding="utf-8"))
    ]

    assert outside == []
