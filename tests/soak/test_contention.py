"""A short soak on every run of the suite; the long one is the same command with --seconds 120."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from tests.harness.private_postgresql import address_of

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.postgresql
@pytest.mark.timeout(300)
def test_a_short_soak_with_killed_processes_accounts_for_every_slot(db: None) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.soak.contention",
            "--seconds",
            "12",
            "--jobs",
            "40",
            "--processes",
            "2",
        ],
        cwd=PROJECT,
        env={**os.environ, "TEST_DATABASE_URL": address_of(connection.settings_dict)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
