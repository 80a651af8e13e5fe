"""Settings of plain `pytest`: SQLite and the cache of the process, nothing else has to run.

The variables of whoever starts the tests are not read, so a developer's environment changes no result. A
process that a test starts is told its database by TEST_CHILD_DATABASE and does read its environment.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from task_scheduler.environment import test_child_database, use_only

if not test_child_database():
    use_only({})

from task_scheduler.settings import *
from task_scheduler.databases import sqlite

_own_file = str(Path(tempfile.gettempdir()) / f"task-scheduler-tests-{os.getpid()}.sqlite3")
_told = test_child_database()
_file = _told if _told and "://" not in _told else _own_file
DATABASES = {"default": {**sqlite(Path(_file)), "TEST": {"NAME": _file}}}
DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
