"""`health`: report on stdout, verdict in the exit code."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scheduler_app.clock import database_now
from scheduler_app.domain.zones import tzdata_release
from tests.commands.running import run_cli
from tests.queries.rows import make_heartbeat

pytestmark = pytest.mark.django_db


def _all_alive() -> None:
    later = database_now() + timedelta(seconds=45)
    for kind in ("scheduler", "worker"):
        make_heartbeat(kind, alive_until=later, tzdata_release=tzdata_release())


def test_all_well_is_exit_code_0() -> None:
    _all_alive()

    answer = run_cli("health")

    assert (answer.code, answer.err) == (0, "ok\n")
    assert answer.out.splitlines()[0].split() == ["CHECK", "STATUS", "DETAIL"]


def test_trouble_is_exit_code_1_and_names_the_part_while_stdout_stays_one_document() -> None:
    answer = run_cli("health", "--format", "json")

    assert answer.code == 1
    assert answer.json["status"] == "down"
    assert {check["name"] for check in answer.json["checks"] if check["status"] == "down"} == {
        "schedulers",
        "workers",
    }
    assert "down: schedulers, workers" in answer.err


def test_a_wrong_format_is_usage() -> None:
    assert run_cli("health", "--format", "xml").code == 2
