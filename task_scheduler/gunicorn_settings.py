"""Settings of the web server that `scheduler serve` starts: its own lines look like all others.

Loaded by gunicorn with `--config python:task_scheduler.gunicorn_settings`, before Django is set up.
"""

from __future__ import annotations

from task_scheduler.environment import read_environment
from task_scheduler.logs import logging_settings

_lines = {"handlers": ["stderr"], "propagate": False}
logconfig_dict = logging_settings(as_json=not read_environment().debug)
logconfig_dict["loggers"] = {"gunicorn.error": _lines, "gunicorn.access": {**_lines, "level": "WARNING"}}
