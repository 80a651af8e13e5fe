"""`/healthz` and `/readyz`: for machines, whatever the Host header, without a session."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from scheduler_app.clock import database_now
from tests.harness.redis_server import RedisServer
from tests.pages.conftest import Configure
from tests.queries.rows import make_heartbeat

ROOT = Path(__file__).resolve().parents[2]


def test_liveness_touches_no_database(client: Client, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["scheduler.example.org"]

    response = client.get("/healthz", headers={"Host": "10.0.0.7:8000"})

    assert response.status_code == 200 and response.json() == {"status": "ok"}
    assert not response.cookies and response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("probe", ["/healthz", "/readyz"])
def test_a_probe_is_only_read(client: Client, probe: str) -> None:
    response = client.post(probe)

    assert response.status_code == 405 and response["Allow"] == "GET, HEAD"


def test_other_pages_do_look_at_the_host(reader: Client, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["scheduler.example.org"]

    assert reader.get("/", headers={"Host": "10.0.0.7"}).status_code == 400


@pytest.mark.django_db(transaction=True)
def test_ready_names_its_checks(client: Client, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = []

    response = client.get("/readyz", headers={"Host": "[::1]:8000"})

    answer = response.json()
    assert response.status_code == 200 and answer["status"] == "ok"
    assert {"database", "migrations"} <= {check["name"] for check in answer["checks"]}
    assert not response.cookies


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("switch", "kind", "check"),
    [
        ("readyz_require_heartbeats", "scheduler", "schedulers"),
        ("readyz_require_worker_heartbeat", "worker", "workers"),
    ],
)
def test_required_heartbeats_must_be_fresh(
    client: Client, configure: Configure, switch: str, kind: str, check: str
) -> None:
    assert client.get("/readyz").status_code == 200
    configure(**{switch: True})

    missing = client.get("/readyz")
    make_heartbeat(kind, alive_until=database_now() + timedelta(minutes=1))
    found = client.get("/readyz")

    states = {one["name"]: one["status"] for one in missing.json()["checks"]}
    assert missing.status_code == 503 and states[check] == "down"
    assert found.status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_configured_redis_that_is_away_makes_it_unready(
    client: Client, configure: Configure, private_redis: RedisServer
) -> None:
    configure(redis_url=private_redis.url)
    assert client.get("/readyz").status_code == 200
    private_redis.stop()

    away = client.get("/readyz")
    configure(redis_url=private_redis.url, readyz_redis_optional=True)
    optional = client.get("/readyz")

    assert away.status_code == 503 and optional.status_code == 200
    assert [one["status"] for one in away.json()["checks"] if one["name"] == "redis"] == ["degraded"]


ASK = """
import django
django.setup()
from django.test import Client
for probe in ("/healthz", "/readyz"):
    answer = Client().get(probe)
    print(answer.status_code, answer.content.decode())
"""


@pytest.mark.processes
def test_an_unreachable_database_makes_it_unready_and_leaves_it_alive() -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "task_scheduler.settings",
        "DATABASE_URL": "postgres://scheduler:never-shown@127.0.0.1:1/nowhere",
    }
    command = [sys.executable, "-c", ASK]

    asked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)

    alive, ready = asked.stdout.splitlines()
    assert alive.startswith("200 ")
    assert ready.startswith('503 {"status": "down"') and '"name": "database", "status": "down"' in ready
    assert "never-shown" not in asked.stdout
