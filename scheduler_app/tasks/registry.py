"""The catalogue of tasks: which functions exist, by which name, with which config.

Only registered functions are ever run; a name is text that is looked up here, never code. Built-in tasks
stand in their own module and are loaded by import path, so this module stays below everything that uses it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from threading import RLock
from typing import TypeVar

from scheduler_app.conf import conf
from scheduler_app.errors import FieldError, SchedulerError, ValidationFailed
from scheduler_app.tasks.context import TaskContext
from scheduler_app.tasks.schema import Schema, apply_schema

BUILTIN_MODULES = ("scheduler_app.tasks.builtin",)
WEBHOOK = "webhook"
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,99}")

TaskFunction = Callable[[TaskContext, dict[str, object]], object]
Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Task:
    """One registered function: its name for operators, what it does, and what its config may hold."""

    name: str
    function: TaskFunction
    description: str
    schema: Schema
    lane: str


_tasks: dict[str, Task] = {}
_lock = RLock()
_state = {"loaded": False, "loading": False}


def lane_of(name: str) -> str:
    """`webhook` or `task`: the two lanes are claimed apart."""
    return WEBHOOK if name == WEBHOOK else "task"


def task(
    name: str, config_schema: Schema | None = None, *, description: str = ""
) -> Callable[[Function], Function]:
    """Register `def f(context: TaskContext, config: dict) -> JSON value | None` under a name.

    Without a schema the task accepts the empty config only. The description defaults to the first line of the
    docstring. Raises SchedulerError for a bad name, a name taken by another function, or a wrong signature.
    """
    if not _NAME.fullmatch(name):
        raise SchedulerError(
            f"{name!r} cannot name a task: begin with a-z, then a-z 0-9 _ . or -, 100 characters at most."
        )

    def register(function: Function) -> Function:
        _refuse_wrong_function(name, function)
        text = description or (inspect.getdoc(function) or "").partition("\n")[0]
        with _lock:
            _refuse_taken_name(name, function)
            _tasks[name] = Task(name, function, text, tuple(config_schema or ()), lane_of(name))
        return function

    return register


def load_tasks() -> None:
    """Import the built-in tasks and each module of SCHEDULER_TASK_MODULES, once per process.

    Raises SchedulerError, one line that names the module and what went wrong in it.
    """
    with _lock:
        if _state["loaded"] or _state["loading"]:
            return
        _state["loading"] = True
        try:
            for module in BUILTIN_MODULES:
                import_module(module)
            for module in conf().task_modules:
                _import_site_module(module)
            _state["loaded"] = True
        finally:
            _state["loading"] = False


def get_task(name: str) -> Task | None:
    """The task of this name, or None. Loads the catalogue when that has not happened yet."""
    load_tasks()
    return _tasks.get(name)


def task_names() -> list[str]:
    """All known names, sorted."""
    load_tasks()
    return sorted(_tasks)


def catalog() -> list[Task]:
    """All known tasks, by name."""
    return [_tasks[name] for name in task_names()]


def validate_config(task_name: str, config: Mapping[str, object]) -> dict[str, object]:
    """The config with the defaults of its task. Raises ValidationFailed naming `task` or `config.<field>`."""
    found = get_task(task_name)
    if found is None:
        raise ValidationFailed([FieldError("task", "unknown", unknown_task_message(task_name))])
    return apply_schema(found.schema, config)


def unknown_task_message(name: str) -> str:
    """One sentence: the name, the nearest known one, and where the list is."""
    close = get_close_matches(name, task_names(), n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"no task is named {name[:100]!r}.{hint} `job catalog` lists all tasks."


def _import_site_module(module: str) -> None:
    try:
        import_module(module)
    except (Exception, SystemExit) as error:
        reason = str(error) or "no message"
        raise SchedulerError(
            f"SCHEDULER_TASK_MODULES: {module} cannot be loaded: {type(error).__name__}: {reason}"
        ) from error


def _refuse_wrong_function(name: str, function: Callable[..., object]) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise SchedulerError(
            f"Task {name}: {function.__qualname__} must be a plain function, not async or a generator."
        )
    try:
        inspect.signature(function).bind(None, {})
    except TypeError:
        raise SchedulerError(
            f"Task {name}: {function.__qualname__} must take two arguments, (context, config)."
        ) from None


def _refuse_taken_name(name: str, function: Callable[..., object]) -> None:
    known = _tasks.get(name)
    if known is None or _place(known.function) == _place(function):
        return
    first, second = _place(known.function), _place(function)
    raise SchedulerError(
        f"Two tasks are named {name}: {first[0]}.{first[1]} and {second[0]}.{second[1]}. Rename one of them."
    )


def _place(function: Callable[..., object]) -> tuple[str, str, int]:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return function.__module__, function.__qualname__, code.co_firstlineno if code else 0
