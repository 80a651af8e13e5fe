"""How a command such as `job` is put together from verbs such as `add`, each with its own arguments.

A verb that changes something takes `--cli-secret` and is refused before anything is looked up; a verb that
answers takes `--format`. Errors and broken text are handled here once.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandParser

from scheduler_app.management.output import Output
from scheduler_app.management.refusals import refusals, refuse_broken_text
from scheduler_app.management.secret import add_secret_argument, check_secret

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: what `--help` says of it, what it takes, and what it does."""

    name: str
    help: str
    example: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Options, Output], None]
    usage: str = ""
    changes: bool = False
    formats: bool = True


class VerbCommand(BaseCommand):
    """A command that is nothing but its verbs."""

    # Commands answer within a second; `check` and the long-running processes run the system checks.
    requires_system_checks = []
    verbs: ClassVar[tuple[Verb, ...]] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare each verb with its arguments."""
        group = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
        for verb in self.verbs:
            own = group.add_parser(
                verb.name,
                help=verb.help,
                description=verb.help,
                epilog=f"example:\n  {verb.example}",
                formatter_class=RawDescriptionHelpFormatter,
                allow_abbrev=False,
                usage=f"%(prog)s {verb.usage}" if verb.usage else None,
            )
            verb.arguments(own)
            if verb.formats:
                add_format_argument(own)
            if verb.changes:
                add_secret_argument(own)
            add_general_arguments(own)
            own.set_defaults(run=verb.run, changes=verb.changes, parser=own)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the chosen verb."""
        parser: ArgumentParser = options["parser"]
        with refusals(parser):
            if options["changes"]:
                check_secret(options["cli_secret"])
            refuse_broken_text(options, parser)
            options["run"](options, output_of(self, options))
            self.stdout.flush()


class PlainCommand(BaseCommand):
    """A command without verbs: its text for `--help`, one example, and what it does."""

    requires_system_checks = []
    example: ClassVar[str] = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """The parser, with the example below its options."""
        kwargs.update(epilog=f"example:\n  {self.example}", allow_abbrev=False)
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command; errors leave as for verbs."""
        with refusals():
            refuse_broken_text(options)
            self.run(options, output_of(self, options))
            self.stdout.flush()

    def run(self, options: Options, output: Output) -> None:
        """What the command does."""
        raise NotImplementedError


def output_of(command: BaseCommand, options: Options) -> Output:
    """The output of a command under its options."""
    return Output(
        stdout=command.stdout,
        stderr=command.stderr,
        as_json=options.get("format") == "json",
        colour=not options.get("no_color"),
    )


def add_format_argument(parser: ArgumentParser) -> None:
    """Declare `--format`."""
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text for people (default) or one JSON document on stdout",
    )


def add_general_arguments(parser: ArgumentParser) -> None:
    """Let the options that Django gives every command also stand behind the verb, where people type them."""
    for option, kind in (("--settings", str), ("--pythonpath", str), ("--verbosity", int)):
        parser.add_argument(option, type=kind, default=SUPPRESS, help=SUPPRESS)
    for switch in ("--traceback", "--no-color", "--force-color", "--skip-checks"):
        parser.add_argument(switch, action="store_true", default=SUPPRESS, help=SUPPRESS)
