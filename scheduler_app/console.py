"""The installed command `scheduler`: short names for the processes, every management command besides.

`scheduler worker` runs both loops without a port, `scheduler worker run` one worker; the rest is passed on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.core.management import execute_from_command_line
from django.db import Error as DatabaseError

from scheduler_app.queries.database_errors import database_sentence

PROCESSES = ("run", "next", "serve")


def to_management(arguments: Sequence[str]) -> list[str]:
    """The words of `manage.py` for the words of `scheduler`."""
    words = list(arguments)
    if words[:1] == ["worker"] and words[1:2] != ["run"] and "--help" not in words:
        return ["scheduler", "loops", *words[1:]]
    if words and words[0] in PROCESSES:
        return ["scheduler", *words]
    return words


def main() -> None:
    """Run one command; the exit code is that of the management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "task_scheduler.settings")
    run_management(["scheduler", *to_management(sys.argv[1:])])


def run_management(words: Sequence[str]) -> None:
    """Run a management command, also one of Django's; a database that is away is one line on stderr."""
    try:
        execute_from_command_line(list(words))
    except DatabaseError as error:
        if "--traceback" in words:
            raise
        sys.stderr.write(f"error: {database_sentence(error)}\n")
        raise SystemExit(1) from None
