"""`worker`: the process that claims due executions and runs them."""

from __future__ import annotations

from scheduler_app.management.process_verbs import WORKER_VERBS
from scheduler_app.management.verbs import VerbCommand


class Command(VerbCommand):
    """Worker processes."""

    help = "Run a worker."
    verbs = WORKER_VERBS
