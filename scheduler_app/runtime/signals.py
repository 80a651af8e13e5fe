"""How a daemon is asked to stop, and the one place where it waits.

The first SIGTERM or SIGINT asks for an orderly end, the second for a fast one. A wait ends at once on a
signal, on input from a watched file, or at its time; it never busy-loops and never sleeps through a signal.
"""

from __future__ import annotations

import selectors
import signal
import socket
import threading
from collections.abc import Iterable
from types import FrameType, TracebackType
from typing import Protocol, Self


class Watched(Protocol):
    """Anything with a file number that becomes readable when there is work; a negative number is none."""

    def fileno(self) -> int: ...


class StopRequest:
    """Counts stop signals while it is installed (a context manager, main thread only)."""

    def __init__(self) -> None:
        self.count = 0
        self._ours, self._theirs = socket.socketpair()
        for end in (self._ours, self._theirs):
            end.setblocking(False)
        self._previous: dict[signal.Signals, object] = {}
        self._previous_fd = -1

    @property
    def requested(self) -> bool:
        """Whether the process should come to an end."""
        return self.count > 0

    @property
    def urgent(self) -> bool:
        """Whether it was asked twice."""
        return self.count > 1

    def request(self) -> None:
        """Ask from inside the process, as a signal would."""
        self.count += 1
        self._theirs.send(b"\0")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._previous[number] = signal.signal(number, self._on_signal)
            self._previous_fd = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous:
            signal.set_wakeup_fd(self._previous_fd)
            for number, handler in self._previous.items():
                signal.signal(number, handler)  # type: ignore[arg-type]
        self._ours.close()
        self._theirs.close()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.count += 1

    def wait(self, seconds: float, watched: Iterable[Watched] = ()) -> None:
        """Return after `seconds`, or earlier on a signal or on input from one of `watched`."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._ours, selectors.EVENT_READ)
            for source in watched:
                if source.fileno() >= 0:
                    selector.register(source.fileno(), selectors.EVENT_READ)
            for key, _ in selector.select(max(seconds, 0.0)):
                if key.fileobj is self._ours:
                    self._drain()

    def _drain(self) -> None:
        try:
            while self._ours.recv(4096):
                pass
        except BlockingIOError:
            return
