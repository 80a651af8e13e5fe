"""`ensure_dev_user`: the first operator of a try-out, made once and never changed again.

Name, password and mail address come from DEV_ADMIN_*. The well-known password is used with DEBUG=1 only, and
said aloud on stderr as long as it opens the account.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.management.base import CommandError

from scheduler_app.management.operator import cli_actor
from scheduler_app.management.output import Output, visible
from scheduler_app.management.verbs import Options, PlainCommand
from scheduler_app.services.operators import ensure_dev_user

DEFAULT_PASSWORD = "admin"


class Command(PlainCommand):
    """Make the development operator."""

    help = "Make the first operator (DEV_ADMIN_USERNAME, DEV_ADMIN_PASSWORD, DEV_ADMIN_EMAIL) if missing."
    example = "python manage.py ensure_dev_user"

    def run(self, options: Options, output: Output) -> None:
        """Make the operator when it is missing; never touch one that exists."""
        password = settings.DEV_ADMIN_PASSWORD
        if not password and not settings.TRY_OUT:
            raise CommandError("DEBUG=0 makes no operator with a well-known password; set DEV_ADMIN_PASSWORD")
        name = visible(settings.DEV_ADMIN_USERNAME)
        user, made = ensure_dev_user(
            username=settings.DEV_ADMIN_USERNAME,
            password=password or DEFAULT_PASSWORD,
            email=settings.DEV_ADMIN_EMAIL,
            actor=cli_actor(),
        )
        output.line(f"operator {name} made" if made else f"operator {name} exists, nothing changed")
        if check_password(DEFAULT_PASSWORD, user.password):
            output.note(
                f"warning: operator {name} has the well-known password {DEFAULT_PASSWORD!r}; "
                f"before anybody else can reach this address run `python manage.py changepassword {name}`"
            )
