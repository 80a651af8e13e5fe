"""Finds the Chromium that browser tests drive; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def chromium_path() -> str | None:
    """CHROMIUM_BIN, else the first known name on PATH, else None."""
    given = os.environ.get("CHROMIUM_BIN", "")
    candidates = [given] if given else [shutil.which(name) for name in NAMES] + [MAC]
    return next((str(path) for path in candidates if path and Path(path).exists()), None)
