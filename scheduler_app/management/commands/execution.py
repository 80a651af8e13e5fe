"""`execution`: read, retry and cancel executions."""

from __future__ import annotations

from scheduler_app.management.execution_verbs import VERBS
from scheduler_app.management.verbs import VerbCommand


class Command(VerbCommand):
    """Executions at the command line."""

    help = "List, inspect, retry and cancel executions."
    verbs = VERBS
