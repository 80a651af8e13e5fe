"""Every command of the product with its verbs, as argparse knows them."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, _HelpAction, _SubParsersAction

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand, DjangoHelpFormatter

GENERAL = DjangoHelpFormatter.show_last


def own_commands() -> dict[str, BaseCommand]:
    """The management commands of the app by name."""
    names = sorted(name for name, app in get_commands().items() if app == "scheduler_app")
    return {name: load_command_class("scheduler_app", name) for name in names}


def parsers() -> dict[str, ArgumentParser]:
    """`job add`, `health`, … with their parsers: one entry for each thing a person can run."""
    found: dict[str, ArgumentParser] = {}
    for name, command in own_commands().items():
        command._called_from_command_line = True
        parser = command.create_parser("manage.py", name)
        groups = [action for action in parser._actions if isinstance(action, _SubParsersAction)]
        verbs = {f"{name} {verb}": own for group in groups for verb, own in group.choices.items()}
        found |= verbs or {name: parser}
    return found


def arguments(parser: ArgumentParser) -> list[Action]:
    """The arguments of the product itself: no `--help`, nothing that Django gives every command."""
    return [
        action
        for action in parser._actions
        if not isinstance(action, _HelpAction)
        and action.help != SUPPRESS
        and not GENERAL & set(action.option_strings)
    ]
