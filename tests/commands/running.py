"""Running a command in this process exactly as `manage.py` would, and reading what it answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import StringIO
from typing import Any
from unittest.mock import patch

from django.core.management import CommandError, get_commands, load_command_class


@dataclass(frozen=True, slots=True)
class Answer:
    """Exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout; fails when there is anything else."""
        return json.loads(self.out)


def run_cli(command: str, *words: str) -> Answer:
    """The answer of `manage.py COMMAND WORDS…`.

    `run_from_argv` itself would close the connection that holds the transaction of the test, so its three
    steps (parse, execute, error to exit code) are made here.
    """
    out, err = StringIO(), StringIO()
    instance = load_command_class(get_commands()[command], command)
    instance._called_from_command_line = True
    with patch("sys.stdout", out), patch("sys.stderr", err):
        try:
            options = vars(instance.create_parser("manage.py", command).parse_args(list(words)))
            options.pop("args", None)
            instance.execute(stdout=out, stderr=err, **options)
        except SystemExit as left:
            return Answer(int(left.code or 0), out.getvalue(), err.getvalue())
        except CommandError as refused:
            return Answer(refused.returncode, out.getvalue(), f"{err.getvalue()}CommandError: {refused}\n")
    return Answer(0, out.getvalue(), err.getvalue())
