"""`job`: add, read and change jobs."""

from __future__ import annotations

from scheduler_app.management.job_changes import CHANGES
from scheduler_app.management.job_reads import READS
from scheduler_app.management.verbs import VerbCommand


class Command(VerbCommand):
    """Jobs at the command line."""

    help = "Add, list, show, change, trigger, enable, disable and delete jobs."
    verbs = CHANGES[:1] + READS + CHANGES[1:]
