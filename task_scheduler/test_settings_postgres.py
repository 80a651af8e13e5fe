"""Settings of `pytest --ds=task_scheduler.test_settings_postgres`: the same suite on a real PostgreSQL.

The server is TEST_DATABASE_URL, else DATABASE_URL, else one that the test harness finds or brings. It has to
be up before the settings are complete: pytest-django reads the databases before any conftest file is loaded.
"""

from __future__ import annotations

from task_scheduler.environment import test_child_database
from task_scheduler.test_settings import *
from task_scheduler.databases import postgresql
from tests.harness.private_postgresql import ensure_server

_url = test_child_database() or ensure_server()
DATABASES = {"default": {**postgresql(_url, variable="TEST_DATABASE_URL"), "CONN_MAX_AGE": 0}}
