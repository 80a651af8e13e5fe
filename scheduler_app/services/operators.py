"""Accounts of the people who operate the scheduler: the development operator of a try-out."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.db import transaction

from scheduler_app.clock import database_now
from scheduler_app.services.audit import AuditLine, record


def ensure_dev_user(*, username: str, password: str, email: str, actor: str) -> tuple[AbstractUser, bool]:
    """The operator `username`, made when missing; an existing one keeps its password. (user, made)."""
    users = get_user_model()
    with transaction.atomic():
        found = users.objects.filter(username=username).first()
        if found is not None:
            return found, False
        user = users.objects.create_superuser(username=username, email=email, password=password)
        record([AuditLine(actor, "operator.created", "user", user.pk, None, username)], now=database_now())
    return user, True
