"""Log lines of every process: JSON when DEBUG=0, readable otherwise, always on stderr.

The standard library and structlog go through one formatter, so a line of Django or gunicorn looks like ours.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog
from structlog.typing import Processor

SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
]


def _renderers(as_json: bool) -> list[Processor]:
    if as_json:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    plain = structlog.dev.plain_traceback
    colors = sys.stderr.isatty()
    return [structlog.dev.ConsoleRenderer(colors=colors, timestamp_key="at", exception_formatter=plain)]


def configure_structlog(*, as_json: bool) -> None:
    """Send structlog, and warnings in production, through the standard library."""
    logging.captureWarnings(as_json)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED[:3],
            SHARED[4],
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logging_settings(*, as_json: bool) -> dict[str, Any]:
    """The LOGGING dictionary."""
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": SHARED,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(as_json)],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formatter},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}
        },
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            # Strangers knock with any host name; they get a 400 and no traceback in our log.
            "django.security.DisallowedHost": {"handlers": [], "propagate": False},
            "django.server": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        },
    }
