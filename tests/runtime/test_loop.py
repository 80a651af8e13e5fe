"""The life of a daemon: rounds until it is asked to stop, and no error that ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from django.db import DataError, InterfaceError, OperationalError, connection
from structlog.testing import capture_logs

from scheduler_app.runtime import loop
from scheduler_app.runtime.loop import run_until_stopped
from scheduler_app.runtime.signals import StopRequest, Watched

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Scripted:
    """A daemon that does what its script says, one step a round, and then asks to stop."""

    stop: StopRequest
    script: list[Callable[[], float]]
    rounds: int = 0
    losses: int = 0
    files: list[Watched] = field(default_factory=list)
    ends_after: int = 10**6

    def tick(self) -> float:
        self.rounds += 1
        if not self.script:
            self.stop.request()
            return 0.0
        return self.script.pop(0)()

    def watched(self) -> Sequence[Watched]:
        return self.files

    def database_lost(self) -> None:
        self.losses += 1

    def finished(self) -> bool:
        return self.rounds >= self.ends_after


def fails(error: Exception) -> Callable[[], float]:
    def step() -> float:
        raise error

    return step


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "FIRST_PAUSE_SECONDS", 0.001)


def test_rounds_go_on_until_a_stop_is_asked_for() -> None:
    with StopRequest() as stop:
        daemon = Scripted(stop, [lambda: 0.0, lambda: 0.001, lambda: 0.0])
        run_until_stopped(daemon, stop)

    assert (daemon.rounds, daemon.losses) == (4, 0)


def test_a_finished_daemon_does_no_further_round() -> None:
    with StopRequest() as stop:
        daemon = Scripted(stop, [lambda: 0.0] * 9, ends_after=2)
        run_until_stopped(daemon, stop)

    assert daemon.rounds == 2


def test_a_finished_daemon_does_not_wait_for_its_next_round() -> None:
    with StopRequest() as stop:
        daemon = Scripted(stop, [lambda: 3_600.0], ends_after=1)
        run_until_stopped(daemon, stop)

    assert daemon.rounds == 1


def test_a_stop_asked_for_during_a_round_is_not_slept_through() -> None:
    with StopRequest() as stop:

        def stop_and_wish_to_wait() -> float:
            stop.request()
            return 3_600.0

        run_until_stopped(Scripted(stop, [stop_and_wish_to_wait]), stop)


def test_input_from_a_watched_file_ends_the_wait() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, StopRequest() as stop:

        def speak_and_wait() -> float:
            theirs.send(b"x")
            return 3_600.0

        daemon = Scripted(stop, [speak_and_wait], files=[ours])
        run_until_stopped(daemon, stop)

    assert daemon.rounds == 2


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (OperationalError("the server went away"), "database.away"),
        (InterfaceError("the connection is closed"), "database.away"),
        (DataError("integer out of range"), "loop.error"),
        (ValueError("a row nobody expected"), "loop.error"),
        (KeyError("a bug"), "loop.error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_no_error_ends_the_daemon_and_each_drops_the_connection(error: Exception, event: str) -> None:
    connection.ensure_connection()
    with capture_logs() as lines, StopRequest() as stop:
        daemon = Scripted(stop, [fails(error), lambda: 0.0])
        run_until_stopped(daemon, stop)

    assert (daemon.rounds, daemon.losses) == (3, 1)
    assert [line["event"] for line in lines] == [event, "database.back"]
    assert connection.connection is None


def test_a_long_outage_is_told_at_its_begin_and_at_every_tenth_failure() -> None:
    with capture_logs() as lines, StopRequest() as stop:
        daemon = Scripted(stop, [fails(OperationalError("away")) for _ in range(12)])
        run_until_stopped(daemon, stop)

    assert [line["failures"] for line in lines if line["event"] == "database.away"] == [1, 10]
    assert daemon.losses == 12


def test_pauses_grow_and_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "FIRST_PAUSE_SECONDS", 0.2)
    pauses = [[loop._backoff(failures) for _ in range(200)] for failures in (1, 3, 5, 10_000)]

    assert max(pauses[0]) < min(pauses[1])
    assert max(pauses[1]) < min(pauses[2])
    assert max(pauses[-1]) <= loop.LONGEST_PAUSE_SECONDS
    assert min(pauses[0]) >= 0.1
