"""The one family of errors a caller of this product can meet.

Every message names the value, the rule and the way out; doors (command line, pages, API) translate the
class into an exit code, a form error or an HTTP status and show the message as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class SchedulerError(Exception):
    """Base of all errors this product raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field: its name at the doors, a stable code, and a sentence for people."""

    field: str
    code: str
    message: str


class ValidationFailed(SchedulerError):
    """One or more fields were refused; nothing was changed."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        if not errors:
            raise ValueError("ValidationFailed needs at least one FieldError")
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in errors))


class ScheduleError(SchedulerError):
    """One fault in a schedule: `code` and `field` are stable words, `message` is for people."""

    def __init__(self, code: str, field: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.field = field


class NotFound(SchedulerError):
    """The named object does not exist."""


class Conflict(SchedulerError):
    """The object exists, but its present state does not allow the verb."""


class Forbidden(SchedulerError):
    """The caller did not show the right to do this."""


class NonRetryable(SchedulerError):
    """Raised by a task to say that another attempt would fail in the same way."""

    def __init__(self, message: str = "the task asked not to be retried") -> None:
        super().__init__(message)
