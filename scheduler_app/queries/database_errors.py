"""What a database error means, in one sentence for people.

The database's own text may hold an address, a user or a piece of SQL, so only known conditions are told: by
SQLSTATE, or by the few sentences a server says before there is a connection to carry a state.
"""

from __future__ import annotations

import re

from django.db import Error as DatabaseError
from django.db import connection

from scheduler_app.queries.probes import database_address

NOT_MIGRATED = "the database is not migrated to this version; run `python manage.py migrate`"
_UNKNOWN_TABLE = ("42P01", "42703")
_REFUSALS = (
    (re.compile(r'database "[^"]*" does not exist'), "there is no such database; make it with createdb"),
    (re.compile(r'role "[^"]*" does not exist'), "it has no such role; make it with createuser"),
    (re.compile("password authentication failed"), "it refuses the password"),
    (re.compile("no pg_hba.conf entry"), "it lets this user or host not in; see its pg_hba.conf"),
    (re.compile("too many clients|remaining connection slots"), "it has no connection left; try again"),
    (re.compile("the database system is (starting|shutting)"), "it is starting or stopping; try again"),
)


def is_not_migrated(error: BaseException) -> bool:
    """Whether a table or column of this version is missing."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state in _UNKNOWN_TABLE or str(error).startswith(("no such table", "no such column"))


def database_sentence(error: DatabaseError) -> str:
    """One sentence: where, what, and the way out. Holds no password, user or SQL."""
    state = getattr(error.__cause__, "sqlstate", None)
    if is_not_migrated(error):
        return NOT_MIGRATED
    if connection.vendor == "sqlite":
        if "locked" in str(error):
            return f"{database_address()} is busy with another process; try again"
        return f"{database_address()} cannot be used; check it and its folder"
    for pattern, words in _REFUSALS:
        if pattern.search(str(error)):
            return f"{database_address()} answers, but {words}, or set DATABASE_URL otherwise"
    if state in ("57014", "55P03"):
        return f"{database_address()} took too long to answer, or a row is locked; try again"
    if state is None or state.startswith(("08", "57", "28", "3D", "53")):
        return f"{database_address()} does not answer; see that it runs and check DATABASE_URL"
    return f"{database_address()} refused this (condition {state}); nothing was changed"
