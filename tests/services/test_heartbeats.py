"""Signs of life: who is alive, who has lapsed for good, who is forgotten."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from scheduler_app import __version__
from scheduler_app.models import Heartbeat
from scheduler_app.services.heartbeats import (
    Identity,
    announce,
    default_name,
    live_workers,
    prune_heartbeats,
    renew,
    retire,
)
from tests.factories import NOW, at, make_worker

pytestmark = pytest.mark.django_db


def test_a_first_sign_of_life_says_who_the_process_is() -> None:
    identity = Identity("worker", "worker-a", tasks=("always_succeed",), queues=("mail",), slots=7)

    announce(identity=identity, now=NOW)

    beat = Heartbeat.objects.get()
    assert (beat.incarnation, beat.kind, beat.name) == (identity.incarnation, "worker", "worker-a")
    assert (beat.tasks, beat.queues, beat.slots) == (["always_succeed"], ["mail"], 7)
    assert (beat.started_at, beat.beat_at, beat.alive_until) == (NOW, NOW, at(45))
    assert (beat.version, bool(beat.tzdata_release), bool(beat.host)) == (__version__, True, True)


def test_the_alive_window_is_a_setting(settings: Settings) -> None:
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, alive_seconds=5)
    make_worker()

    assert Heartbeat.objects.get().alive_until == at(5)


def test_a_renewal_opens_the_next_window_and_says_how_busy_the_process_is() -> None:
    worker = make_worker()

    assert renew(identity=worker, now=at(30), running=3, draining=True)

    beat = Heartbeat.objects.get()
    assert (beat.beat_at, beat.alive_until, beat.started_at) == (at(30), at(75), NOW)
    assert (beat.running, beat.draining) == (3, True)


def test_an_incarnation_whose_window_closed_never_comes_back() -> None:
    worker = make_worker()

    assert not renew(identity=worker, now=at(45))
    assert not renew(identity=worker, now=at(44.9) + timedelta(days=1))
    assert Heartbeat.objects.get().alive_until == at(45)


def test_a_forgotten_incarnation_cannot_renew() -> None:
    worker = make_worker()
    retire(identity=worker)

    assert not renew(identity=worker, now=at(1))
    assert not Heartbeat.objects.exists()


def test_two_processes_may_share_a_name() -> None:
    first, second = make_worker("worker-a"), make_worker("worker-a")
    retire(identity=first)

    assert Heartbeat.objects.get().incarnation == second.incarnation


def test_only_workers_with_an_open_window_live() -> None:
    make_worker("early")
    make_worker("late", now=at(40))
    announce(identity=Identity("scheduler", "scheduler-a"), now=at(40))

    assert [worker.name for worker in live_workers(now=at(45))] == ["late"]


def test_processes_silent_for_a_day_are_removed_and_no_others() -> None:
    for name, seconds in (("old", -86_401), ("edge", -86_400), ("live", 0)):
        make_worker(name, now=at(seconds))

    assert prune_heartbeats(now=NOW) == 1
    assert sorted(Heartbeat.objects.values_list("name", flat=True)) == ["edge", "live"]


def test_a_process_whose_window_is_open_is_never_removed(settings: Settings) -> None:
    settings.SCHEDULER = dataclasses.replace(settings.SCHEDULER, heartbeat_prune_seconds=10, alive_seconds=45)
    make_worker()

    assert prune_heartbeats(now=at(44)) == 0
    assert prune_heartbeats(now=at(46)) == 1


def test_a_process_without_a_name_is_called_after_its_host_and_pid() -> None:
    kind, _, place = default_name("worker").partition("@")

    assert kind == "worker"
    assert place.rpartition(":")[2].isdecimal()
