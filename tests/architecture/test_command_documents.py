"""What the documents tell a reader to type exists: make targets, management commands, test commands."""

from __future__ import annotations

import re

from django.core.management import get_commands

from tests.architecture.sources import ROOT

CARD = (
    "python -m pytest -m postgresql --ds=task_scheduler.test_settings_postgres",
    "python -m pytest --cov=scheduler_app --cov-report=term-missing --cov-fail-under=93",
)


def _readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def _own_commands() -> set[str]:
    return {name for name, app in get_commands().items() if app == "scheduler_app"}


def test_the_command_reference_has_a_section_for_every_command_and_no_other() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ .*$", text, flags=re.MULTILINE)
    named = {name for name in _own_commands() if any(re.search(rf"\b{name}\b", line) for line in headings)}

    assert named == _own_commands()


def test_every_command_the_documents_call_exists() -> None:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    called = {
        (path.name, name)
        for path in documents
        for name in re.findall(r"manage\.py ([a-z_]+)", path.read_text(encoding="utf-8"))
    }

    assert {(where, name) for where, name in called if name not in get_commands()} == set()


def test_every_make_target_the_readme_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    assert set(re.findall(r"make ([a-z]+)\b", _readme())) <= targets
    assert targets == {"help", "run", "test", "check", "demo", "lock"}


def test_the_readme_states_the_test_commands() -> None:
    assert [command for command in CARD if command not in _readme()] == []


def test_ci_runs_the_same_commands_as_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert "make check" in script
    assert "--cov=scheduler_app --cov-report=term-missing --cov-fail-under=93" in script
    assert "--ds=task_scheduler.test_settings_postgres" in script


def test_every_relative_link_of_the_documents_leads_somewhere() -> None:
    broken = []
    for document in [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            if not (document.parent / target).exists():
                broken.append(f"{document.name} -> {target}")

    assert broken == []
