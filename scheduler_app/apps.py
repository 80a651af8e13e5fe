"""Start-up of the app: one source of zone rules for the process, then the system checks."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from django.apps import AppConfig


class SchedulerAppConfig(AppConfig):
    """The only app of the project; its tables are named scheduler_app_<model>."""

    name = "scheduler_app"
    label = "scheduler_app"
    verbose_name = "Scheduler"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Pin the zone data and register the checks."""
        if find_spec("scheduler_app.domain.zones"):
            import_module("scheduler_app.domain.zones").pin_zone_data()
        import_module("scheduler_app.checks")
