"""`scheduler`: the process that decides when work is due, and the group that serves it all."""

from __future__ import annotations

from scheduler_app.management.process_verbs import SCHEDULER_VERBS
from scheduler_app.management.verbs import VerbCommand


class Command(VerbCommand):
    """Scheduler processes."""

    help = "Run the scheduler, or web, scheduler and worker as one group."
    verbs = SCHEDULER_VERBS
