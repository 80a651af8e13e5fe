"""Who visits in these tests: an operator who is signed in, and a reader who is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

Configure = Callable[..., None]


@pytest.fixture(autouse=True)
def _nothing_cached() -> None:
    cache.clear()


@pytest.fixture
def reader(db: None) -> Client:
    """Not signed in."""
    return Client()


@pytest.fixture
def ada(db: None) -> User:
    """The account of the operator."""
    return User.objects.create_user("ada", password="right horse")


@pytest.fixture
def operator(ada: User) -> Client:
    """Signed in as `ada`."""
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def configure(settings: Settings) -> Configure:
    """Change numbers and switches of the scheduler for one test."""

    def change(**values: Any) -> None:
        settings.SCHEDULER = replace(django_settings.SCHEDULER, **values)

    return change
