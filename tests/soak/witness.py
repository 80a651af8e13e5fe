"""Tasks of the soak: each leaves a line in a file outside the database, so that effects can be counted."""

from __future__ import annotations

import os
import time

from scheduler_app.tasks import ConfigField, TaskContext, task


@task(
    "soak_witness",
    (
        ConfigField("log", "string", required=True, help="File that gets one line an attempt."),
        ConfigField("seconds", "number", default=0, minimum=0, maximum=60, help="How long to work."),
        ConfigField("fail_every", "integer", default=0, minimum=0, maximum=1000, help="Fail each n-th run."),
    ),
    description="Append execution, attempt and fence to a file, work a while, perhaps fail.",
)
def soak_witness(context: TaskContext, config: dict[str, object]) -> None:
    """One line is one started effect: appends of a short line are atomic."""
    line = f"{context.execution_id} {context.attempt} {context.fence} {time.time():.3f}\n"
    descriptor = os.open(str(config["log"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode("ascii"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    time.sleep(float(str(config["seconds"])))
    every = int(str(config["fail_every"]))
    if every and context.execution_id % every == 0 and context.attempt == 1:
        raise RuntimeError("fails on purpose")
