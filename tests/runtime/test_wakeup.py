"""The ear for NOTIFY: hears what was said, survives the loss of its connection, is silent on SQLite."""

from __future__ import annotations

import dataclasses
import select
from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from scheduler_app.runtime import wakeup
from scheduler_app.runtime.wakeup import Listener
from scheduler_app.services.transactions import fetch_all
from scheduler_app.services.wakeups import ROWS_DUE, notify_schedulers, notify_workers
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """An ear that is connected where there is something to hear."""
    monkeypatch.setattr(wakeup, "RECONNECT_SECONDS", 0.0)
    found = Listener(ROWS_DUE)
    assert not found.heard()
    yield found
    found.close()


def readable(listener: Listener) -> bool:
    return bool(select.select([listener.fileno()], [], [], 0)[0])


@pytest.mark.postgresql
def test_a_word_on_its_channel_is_heard_once(listener: Listener) -> None:
    notify_workers()

    wait_until(lambda: readable(listener), what="the socket is readable")
    assert listener.heard()
    assert not listener.heard()


@pytest.mark.postgresql
def test_many_words_are_one_wake_up(listener: Listener) -> None:
    for _ in range(50):
        notify_workers()
    wait_until(lambda: readable(listener), what="the socket is readable")

    assert wait_until(listener.heard, what="it is heard")
    wait_until(lambda: not readable(listener) or not listener.heard(), what="all is taken")


@pytest.mark.postgresql
def test_a_word_on_another_channel_is_not_heard(listener: Listener) -> None:
    notify_schedulers()
    fetch_all("SELECT 1", [])

    assert not listener.heard()


@pytest.mark.postgresql
def test_a_lost_connection_counts_as_heard_and_is_made_anew(listener: Listener) -> None:
    fetch_all(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE 'LISTEN%%'",
        [],
    )

    assert wait_until(listener.heard, what="the loss shows")
    assert listener.fileno() == -1
    assert not listener.heard()
    notify_workers()
    assert wait_until(listener.heard, what="the new connection hears")


@pytest.mark.postgresql
def test_an_address_of_its_own_is_used_and_a_dead_one_costs_nothing_but_the_hint(settings: Settings) -> None:
    settings.SCHEDULER = dataclasses.replace(
        settings.SCHEDULER, database_direct_url="postgres://nobody@127.0.0.1:1/none"
    )
    listener = Listener(ROWS_DUE)

    assert not listener.heard()
    assert listener.fileno() == -1


def test_without_notify_there_is_nothing_to_watch() -> None:
    if connection.vendor == "postgresql":
        pytest.skip("about SQLite")
    listener = Listener(ROWS_DUE)
    notify_workers()

    assert not listener.heard()
    assert listener.fileno() == -1
    listener.close()
