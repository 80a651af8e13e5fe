"""Who acts at the command line, as the audit trail names them: `cli:<user of the system>@<host>`.

The user is the one the system runs the process for, not what a variable of the shell claims.
"""

from __future__ import annotations

import getpass
import os
import socket

from scheduler_app.management.output import visible

MAX_CHARACTERS = 200


def cli_actor() -> str:
    """The actor string of this process, at most MAX_CHARACTERS long."""
    return visible(f"cli:{_user()}@{socket.gethostname() or 'localhost'}")[:MAX_CHARACTERS]


def _user() -> str:
    try:
        import pwd
    except ImportError:  # Windows has no such table
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number without a name
        return f"uid{os.getuid()}"
