"""`--cli-secret`: commands that change something need it while SCHEDULER_CLI_SECRET is set.

The comparison takes the same time for every wrong value, and neither value is ever shown.
"""

from __future__ import annotations

import hmac
from argparse import ArgumentParser

from scheduler_app.conf import conf
from scheduler_app.errors import Forbidden


def add_secret_argument(parser: ArgumentParser) -> None:
    """Declare the option."""
    parser.add_argument(
        "--cli-secret",
        metavar="SECRET",
        help="the value of SCHEDULER_CLI_SECRET; needed while that setting is set",
    )


def check_secret(given: str | None) -> None:
    """Return when the command may change something. Raises Forbidden."""
    expected = conf().cli_secret
    if not expected:
        return
    if given is None:
        raise Forbidden(
            "SCHEDULER_CLI_SECRET is set, so this command needs --cli-secret; nothing was changed"
        )
    if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode()):
        raise Forbidden("--cli-secret does not match SCHEDULER_CLI_SECRET; nothing was changed")
