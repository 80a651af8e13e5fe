"""Stop signals are counted, and a wait ends on a signal, on input, or at its time."""

from __future__ import annotations

import os
import signal
import socket
import threading

import pytest

from scheduler_app.runtime.signals import StopRequest

LONG = 60.0


class Nothing:
    """Something to watch that has no file at the moment."""

    def fileno(self) -> int:
        return -1


@pytest.mark.skipif(os.name == "nt", reason="signals as of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_and_the_second_urges(number: signal.Signals) -> None:
    with StopRequest() as stop:
        assert (stop.requested, stop.urgent) == (False, False)
        os.kill(os.getpid(), number)
        stop.wait(LONG)
        assert (stop.requested, stop.urgent) == (True, False)
        os.kill(os.getpid(), number)
        stop.wait(LONG)
        assert (stop.requested, stop.urgent) == (True, True)


def test_the_handlers_of_before_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    with StopRequest():
        assert signal.getsignal(signal.SIGTERM) != before[0]

    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_request_from_inside_ends_a_wait_that_began_before() -> None:
    with StopRequest() as stop:
        waiter = threading.Thread(target=stop.wait, args=(LONG,))
        waiter.start()
        stop.request()
        waiter.join(timeout=10)
        assert not waiter.is_alive()


def test_a_request_from_inside_ends_a_wait_that_begins_after() -> None:
    with StopRequest() as stop:
        stop.request()
        stop.wait(LONG)

        assert stop.requested


def test_input_ends_the_wait_and_asks_for_nothing() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, StopRequest() as stop:
        theirs.send(b"x")
        stop.wait(LONG, [ours, Nothing()])

        assert not stop.requested


def test_a_wait_of_no_time_returns_at_once() -> None:
    with StopRequest() as stop:
        stop.wait(0)
        stop.wait(-5)

        assert not stop.requested


def test_in_another_thread_the_handlers_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def inside() -> None:
        with StopRequest() as stop:
            seen.append(signal.getsignal(signal.SIGTERM))
            stop.request()
            stop.wait(LONG)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join(timeout=10)

    assert seen == [before]
