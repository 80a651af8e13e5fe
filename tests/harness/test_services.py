"""The services behind a test run are those the report header names, and child processes reach them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import caches
from django.db import connection
from django.test import override_settings

from task_scheduler.settings import cache_settings
from tests.architecture.sources import ROOT
from tests.harness.private_postgresql import find_binaries
from tests.harness.redis_server import RedisServer


@pytest.mark.django_db(transaction=True)
def test_a_process_started_by_a_test_works_on_the_database_of_the_test(
    child_environment: Callable[..., dict[str, str]],
) -> None:
    get_user_model().objects.create_user("seen-by-the-child")
    code = (
        "from django.conf import settings; from django.contrib.auth.models import User;"
        "print([user.username for user in User.objects.all()], settings.SCHEDULER.lease_seconds)"
    )

    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=ROOT,
        env=child_environment(LEASE_SECONDS="11"),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.strip() == "['seen-by-the-child'] 11", done.stderr


@pytest.mark.postgresql
@pytest.mark.django_db
def test_a_test_marked_postgresql_runs_on_postgresql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        row: Any = cursor.fetchone()

    assert int(row[0]) >= 140000


def test_a_private_postgresql_can_always_be_brought() -> None:
    binaries = find_binaries()

    assert binaries is not None and (binaries / "initdb").exists()


def test_the_redis_of_the_run_answers_the_page_cache(redis_url: str) -> None:
    with override_settings(CACHES=cache_settings(redis_url)):
        caches["default"].set("tests:harness", "kept", timeout=5)

        assert caches["default"].get("tests:harness") == "kept"


def test_a_redis_that_went_away_is_a_quick_miss(private_redis: RedisServer) -> None:
    with override_settings(CACHES=cache_settings(private_redis.url)):
        caches["default"].set("tests:outage", "kept", timeout=60)
        private_redis.stop()
        before = time.monotonic()

        assert caches["default"].get("tests:outage") is None
        caches["default"].set("tests:outage", "lost")
        assert time.monotonic() - before < 1.5
