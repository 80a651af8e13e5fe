"""What a site needs to add its own tasks: `from scheduler_app.tasks import task, NonRetryable, TaskContext`.

A module named in SCHEDULER_TASK_MODULES registers its functions with `@task("name")`; the rest is private.
"""

from __future__ import annotations

from scheduler_app.errors import NonRetryable
from scheduler_app.tasks.context import TaskContext
from scheduler_app.tasks.registry import task
from scheduler_app.tasks.schema import ConfigField

__all__ = ["ConfigField", "NonRetryable", "TaskContext", "task"]
