"""Settings of `pytest --ds=task_scheduler.test_settings_postgres`: the same suite on a real PostgreSQL.

The server is TEST_DATABASE_URL, else DATABASE_URL, else one that the test harness finds or brings; the harness
puts its address into TEST_DATABASE_URL before these settings are read.
"""

from __future__ import annotations

from task_scheduler.environment import test_child_database, test_database_url
from task_scheduler.test_settings import *  # noqa: F403
from task_scheduler.databases import postgresql

_url = test_child_database() or test_database_url()
if not _url:
    raise SystemExit("error: no PostgreSQL for the tests; set TEST_DATABASE_URL, or run pytest, which finds or brings one")
DATABASES = {"default": {**postgresql(_url, variable="TEST_DATABASE_URL"), "CONN_MAX_AGE": 0}}
