"""What every test may use: the services behind the run, and how a test starts a process of the product."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.db import connection

from tests.harness import private_postgresql
from tests.harness.chromium import chromium_path
from tests.harness.redis_server import RedisServer, which_redis

ENABLE_POSTGRESQL = "python -m pytest -m postgresql --ds=task_scheduler.test_settings_postgres"


def on_postgresql() -> bool:
    """Whether the settings of this run ask for PostgreSQL."""
    return str(settings.SETTINGS_MODULE).endswith("test_settings_postgres")


def pytest_report_header() -> list[str]:
    """Says which services stand behind the run."""
    database = (
        private_postgresql.description if on_postgresql() else f"SQLite {sqlite3.sqlite_version} (file, WAL)"
    )
    return [f"database: {database}", f"redis: {which_redis()}", f"browser: {chromium_path() or 'none found'}"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test whose service is missing is skipped with the way to enable it."""
    needs_postgresql = pytest.mark.skip(reason=f"needs the row locks of PostgreSQL; run: {ENABLE_POSTGRESQL}")
    needs_browser = pytest.mark.skip(
        reason="needs Chromium; install it (apt install chromium) or set CHROMIUM_BIN"
    )
    for item in items:
        if item.get_closest_marker("postgresql") and not on_postgresql():
            item.add_marker(needs_postgresql)
        if item.get_closest_marker("browser") and chromium_path() is None:
            item.add_marker(needs_browser)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked postgresql must never pass on another database."""
    if item.get_closest_marker("postgresql") and on_postgresql() and connection.vendor != "postgresql":
        pytest.fail(f"marked postgresql, but the database is {connection.vendor}")


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The address of a Redis that answers; do not flush it, it may be somebody's."""
    if given := os.environ.get("REDIS_URL", ""):
        yield given
        return
    with RedisServer() as server:
        yield server.url


@pytest.fixture
def private_redis() -> Iterator[RedisServer]:
    """A Redis of this test alone, which it may stop and start."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def child_environment(transactional_db: None) -> Callable[..., dict[str, str]]:
    """Makes the environment of a process that works on this test's database; keywords are more variables."""

    def environment(**variables: str) -> dict[str, str]:
        kept = {
            name: os.environ[name]
            for name in (
                "PATH",
                "HOME",
                "LANG",
                "SYSTEMROOT",
                "COVERAGE_PROCESS_START",
                "COVERAGE_PROCESS_CONFIG",
            )
            if name in os.environ
        }
        return {
            **kept,
            "DJANGO_SETTINGS_MODULE": str(settings.SETTINGS_MODULE),
            "TEST_CHILD_DATABASE": private_postgresql.address_of(connection.settings_dict),
            "PYTHONUNBUFFERED": "1",
            **variables,
        }

    return environment
