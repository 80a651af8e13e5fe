"""System checks: settings that start but would not do what an operator expects.

Ids are stable words (`scheduler_app.W001`); each check has a hint that says what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register

from scheduler_app.conf import SchedulerConf, conf


@register(Tags.compatibility)
def check_task_modules(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every module of SCHEDULER_TASK_MODULES can be found."""
    return [
        Error(
            f"SCHEDULER_TASK_MODULES names {name!r}, which cannot be found.",
            hint="Correct the name or put its folder on PYTHONPATH.",
            id="scheduler_app.E001",
        )
        for name in conf().task_modules
        if not _is_there(name)
    ]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


@register(Tags.compatibility)
def check_lease_outlives_heartbeat(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """A worker gets more than one chance to renew before it counts as dead."""
    record: SchedulerConf = conf()
    if record.alive_seconds >= 3 * record.heartbeat_seconds:
        return []
    return [
        Warning(
            f"ALIVE_SECONDS ({record.alive_seconds}) is less than three times "
            f"HEARTBEAT_SECONDS ({record.heartbeat_seconds}).",
            hint="One slow renewal then costs a worker all its running work; raise ALIVE_SECONDS.",
            id="scheduler_app.W001",
        )
    ]
