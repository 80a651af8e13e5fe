"""How errors leave the command line: one CommandError (exit code 1), readable lines, never a traceback.

A refused field is shown under the name its option has. What the database says goes through a list of known
conditions, because its own text may hold an address or a piece of SQL.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from scheduler_app.errors import FieldError, SchedulerError, ValidationFailed
from scheduler_app.management.output import visible
from scheduler_app.queries.database_errors import database_sentence

INTERRUPTED = 130


@contextmanager
def refusals(parser: ArgumentParser | None = None) -> Iterator[None]:
    """Turn what the product raises on purpose, and a database that is away, into a CommandError."""
    try:
        yield
    except ValidationFailed as failed:
        raise CommandError("\n".join(_line(error, _labels(parser)) for error in failed.errors)) from None
    except SchedulerError as refused:
        raise CommandError(visible(refused.message, lines=True)) from None
    except DatabaseError as error:
        raise CommandError(database_sentence(error)) from None
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def refuse_broken_text(options: Mapping[str, object], parser: ArgumentParser | None = None) -> None:
    """Raise CommandError for an argument with bytes that are not UTF-8 (they arrive as lone surrogates)."""
    for name, value in options.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and any("\ud800" <= character <= "\udfff" for character in text):
                label = _labels(parser).get(name, name)
                raise CommandError(f"{label}: holds bytes that are not UTF-8; give text in UTF-8")


def _labels(parser: ArgumentParser | None) -> dict[str, str]:
    """From the name of a field to what a person typed for it."""
    actions = parser._actions if parser else []
    return {
        action.dest: action.option_strings[-1]
        if action.option_strings
        else str(action.metavar or action.dest)
        for action in actions
    }


def _line(error: FieldError, labels: Mapping[str, str]) -> str:
    field, _, inner = error.field.partition(".")
    label = labels.get(field, field)
    return visible(f"{label} {inner}: {error.message}" if inner else f"{label}: {error.message}")
