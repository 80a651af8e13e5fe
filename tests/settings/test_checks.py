"""The system checks say what would start but not do what an operator expects, with a hint."""

from __future__ import annotations

import dataclasses

import pytest
from django.core.checks import CheckMessage, run_checks
from pytest_django.fixtures import Settings


def _found(settings: Settings, **changes: object) -> list[CheckMessage]:
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, **changes)
    return [message for message in run_checks() if str(message.id).startswith("scheduler_app.")]


def test_the_defaults_are_clean(settings: Settings) -> None:
    assert _found(settings) == []


@pytest.mark.parametrize(
    "name", ["no_such_module_anywhere", "no_such_package.tasks", "scheduler_app.nothing"]
)
def test_a_task_module_that_cannot_be_found_is_an_error(settings: Settings, name: str) -> None:
    (message,) = _found(settings, task_modules=(name,))

    assert (message.id, message.is_serious()) == ("scheduler_app.E001", True)
    assert repr(name) in message.msg and "PYTHONPATH" in str(message.hint)


def test_a_task_module_that_exists_is_fine(settings: Settings) -> None:
    assert _found(settings, task_modules=("scheduler_app.tasks",)) == []


def test_one_chance_to_renew_is_a_warning(settings: Settings) -> None:
    (message,) = _found(settings, heartbeat_seconds=5, alive_seconds=14)

    assert message.id == "scheduler_app.W001"
    assert "ALIVE_SECONDS (14)" in message.msg and "raise ALIVE_SECONDS" in str(message.hint)


def test_three_chances_to_renew_are_fine(settings: Settings) -> None:
    assert _found(settings, heartbeat_seconds=5, alive_seconds=15) == []
