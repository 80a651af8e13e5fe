"""Small builders for CHECK constraints, so that a rule of a column reads as one line in its model."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


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
