"""`health`: whether the machinery works. Exit code 0 when all is ok, 1 when it is degraded or down."""

from __future__ import annotations

from django.core.management.base import CommandError, CommandParser

from scheduler_app.management.output import Output
from scheduler_app.management.verbs import Options, PlainCommand, add_format_argument
from scheduler_app.queries.health import OK, health_report


class Command(PlainCommand):
    """The health report at the command line."""

    help = "Say whether database, schedulers and workers are well. Exit code 0: ok; 1: degraded or down."
    example = "python manage.py health --format json"

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare `--format`."""
        add_format_argument(parser)

    def run(self, options: Options, output: Output) -> None:
        """Print every check, then the verdict."""
        report = health_report()
        checks = report["checks"]
        if output.as_json:
            output.document(report)
        else:
            rows = [(check["name"], check["status"], check["detail"]) for check in checks]
            output.table(("check", "status", "detail"), rows)
        bad = [check["name"] for check in checks if check["status"] != OK]
        if bad:
            raise CommandError(f"{report['status']}: {', '.join(bad)}")
        output.note("ok")
