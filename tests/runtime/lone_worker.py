"""A worker that starts two attempts and then only waits; the tests kill it and look at what is left."""

from __future__ import annotations

import sys
import time

import django


def main(launcher: str, witness: str) -> None:
    """Say the pid of the supervisor once the attempts are handed over, then stand still."""
    django.setup()
    from scheduler_app.runtime.attempt_process import AttemptPool
    from scheduler_app.runtime.attempt_spec import AttemptSpec

    pool = AttemptPool(launcher=launcher)
    for task in ("probe.tree_that_escapes", "probe.appoint_a_daemon"):
        pool.start(AttemptSpec(task, task, {"witness": witness}, {}, 120, time.monotonic() + 120))
    sys.stdout.write(f"{pool.supervisor_pid}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
