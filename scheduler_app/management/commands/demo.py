"""`demo`: promises of the product, shown on the configured database with real processes."""

from __future__ import annotations

from scheduler_app.management.demo_single_fire import SINGLE_FIRE
from scheduler_app.management.verbs import VerbCommand


class Command(VerbCommand):
    """Demonstrations at the command line."""

    help = "Show a promise of the scheduler on the configured database, with evidence."
    verbs = (SINGLE_FIRE,)
