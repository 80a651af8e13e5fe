"""Small builders for CHECK constraints, so that a rule of a column reads as one line in its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q
from django.db.models.sql.compiler import SQLCompiler


def one_of(field: str, choices: type[models.TextChoices], *, table: str) -> models.CheckConstraint:
    """The column holds one of the words of `choices`."""
    return models.CheckConstraint(
        condition=Q(**{f"{field}__in": choices.values}), name=f"{table}_{field}_is_known"
    )


def at_least(field: str, minimum: int, *, table: str) -> models.CheckConstraint:
    """The column is not below `minimum`."""
    return models.CheckConstraint(
        condition=Q(**{f"{field}__gte": minimum}), name=f"{table}_{field}_at_least_{minimum}"
    )


def exactly_when(condition: Q, other: Q, *, name: str) -> models.CheckConstraint:
    """Both conditions hold or neither does; `name` is a sentence, as it is the error people see."""
    return models.CheckConstraint(condition=(condition & other) | (~condition & ~other), name=name)


class IsWholeSecond(models.Func):
    """Predicate: the instant has no fraction of a second, whatever the time zone of the session.

    Comparing with a truncated copy would depend on the session's zone, so a restore could refuse good rows.
    """

    output_field = models.BooleanField()

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, Sequence[Any]]:
        template = "MOD(EXTRACT(MICROSECONDS FROM %(expressions)s)::bigint, 1000000) = 0"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="INSTR(%(expressions)s, '.') = 0", **context)
