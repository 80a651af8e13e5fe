"""The catalogue: names are unique, functions have the right shape, a site's fault is one clear line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from scheduler_app.errors import SchedulerError, ValidationFailed
from scheduler_app.tasks import TaskContext, registry, task
from scheduler_app.tasks.registry import catalog, get_task, lane_of, load_tasks, task_names, validate_config

BUILTIN = {
    "sleep_for_seconds",
    "always_succeed",
    "always_fail",
    "fail_once_then_succeed",
    "generate_report",
    "cleanup_old_runs",
    "write_file_artifact",
    "http_health_check_local",
}


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A registry that this test alone fills."""
    load_tasks()
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))
    monkeypatch.setattr(registry, "_state", dict(registry._state))
    yield


def site_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings, text: str) -> str:
    name = f"site_tasks_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    settings.SCHEDULER = replace(django_settings.SCHEDULER, task_modules=(name,))
    registry._state["loaded"] = False
    return name


def test_the_built_in_tasks_are_there_with_a_description() -> None:
    assert set(task_names()) >= BUILTIN
    assert all(entry.description for entry in catalog() if entry.name in BUILTIN)
    assert [entry.name for entry in catalog()] == sorted(task_names())


def test_webhook_has_a_lane_of_its_own() -> None:
    assert lane_of("webhook") == "webhook"
    assert lane_of("always_succeed") == "task"


def test_a_site_adds_its_tasks_by_a_module(
    own_registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    text = (
        'from scheduler_app.tasks import task\n@task("site.greet")\ndef f(context, config):\n    "Greet."\n'
    )
    name = site_module(tmp_path, monkeypatch, settings, text)
    try:
        found = get_task("site.greet")
        assert found is not None and found.description == "Greet."
        assert validate_config("site.greet", {}) == {}
    finally:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def broken(:", "SyntaxError"),
        (
            'from scheduler_app.tasks import task\n@task("always_fail")\ndef f(context, config): ...\n',
            "Two tasks are named always_fail",
        ),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
    ],
)
def test_a_site_module_that_fails_is_one_clear_line(
    own_registry: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    text: str,
    words: str,
) -> None:
    name = site_module(tmp_path, monkeypatch, settings, text)
    with pytest.raises(SchedulerError) as caught:
        load_tasks()

    assert f"SCHEDULER_TASK_MODULES: {name} cannot be loaded: " in caught.value.message
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_a_name_taken_by_another_function_is_refused(own_registry: None) -> None:
    @task("site.first")
    def first(context: TaskContext, config: dict[str, object]) -> None: ...

    with pytest.raises(SchedulerError, match=r"Two tasks are named site\.first"):

        @task("site.first")
        def second(context: TaskContext, config: dict[str, object]) -> None: ...


@pytest.mark.parametrize("name", ["", "Upper", "with space", "9lives", "x" * 101, "a/b"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(SchedulerError, match="cannot name a task"):
        task(name)


def test_a_function_of_the_wrong_shape_is_refused(own_registry: None) -> None:
    def one_argument(context: TaskContext) -> None: ...

    async def later(context: TaskContext, config: dict[str, object]) -> None: ...

    with pytest.raises(SchedulerError, match="two arguments"):
        task("site.one")(one_argument)
    with pytest.raises(SchedulerError, match="plain function"):
        task("site.later")(later)


def test_validating_an_unknown_task_names_it_the_nearest_and_the_list() -> None:
    with pytest.raises(ValidationFailed) as caught:
        validate_config("always_suceed", {})

    (error,) = caught.value.errors
    assert error.field == "task"
    assert "'always_suceed'" in error.message
    assert "Did you mean always_succeed?" in error.message and "job catalog" in error.message


def test_a_config_is_checked_against_its_task() -> None:
    assert validate_config("sleep_for_seconds", {"seconds": 0}) == {"seconds": 0}
    assert validate_config("sleep_for_seconds", {}) == {"seconds": 1}
    with pytest.raises(ValidationFailed, match=r"config\.seconds"):
        validate_config("sleep_for_seconds", {"seconds": -1})
