"""What tests of the command line share."""

from __future__ import annotations

import dataclasses

import pytest
from pytest_django.fixtures import Settings

from scheduler_app.models import Job
from tests.commands.running import run_cli


@pytest.fixture
def job(db: None) -> Job:
    """An enabled job, added at the command line."""
    answer = run_cli(
        "job", "add", "Nightly", "always_succeed", "interval", "--every", "1h", "--format", "json"
    )
    assert answer.code == 0, answer.err
    return Job.objects.get(pk=answer.json["id"])


@pytest.fixture
def cli_secret(settings: Settings) -> str:
    """SCHEDULER_CLI_SECRET is set."""
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, cli_secret="öpen-sesame")
    return "öpen-sesame"
