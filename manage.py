#!/usr/bin/env python3
"""Django's command line for this project."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "task_scheduler.settings")
    # Processes that a command starts must find the project from any working folder.
    paths = [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    try:
        from scheduler_app.console import run_management
    except ImportError:
        sys.stderr.write(
            "error: Django is not installed for this Python; use .venv/bin/python, which `make run` makes\n"
        )
        raise SystemExit(1) from None
    run_management(sys.argv)


if __name__ == "__main__":
    main()
