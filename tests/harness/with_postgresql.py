"""Runs commands on a PostgreSQL that is brought for them: `… -m tests.harness.with_postgresql A … -- B …`.

DATABASE_URL, when set, is used as it is. Commands are separated by `--`; the first failure ends the run with
its exit code. What a private server held is gone afterwards.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.harness.private_postgresql import ensure_server


def commands(words: Sequence[str]) -> list[list[str]]:
    """The words of the command line, split at each `--`."""
    split: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            split.append([])
        else:
            split[-1].append(word)
    return [command for command in split if command]


def main() -> int:
    """Bring the server, run the commands."""
    environment = {**os.environ, "DATABASE_URL": os.environ.get("DATABASE_URL", "") or ensure_server()}
    for command in commands(sys.argv[1:]):
        code = subprocess.call([sys.executable, *command], env=environment)
        if code:
            return code
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
