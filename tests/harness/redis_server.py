"""A Redis for tests: REDIS_URL, else a private redis-server, else the TCP stand-in of fakeredis.

A server made here may be stopped in the middle of a test; one that was given is only used, never flushed
or stopped.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from types import TracebackType
from typing import Any

from tests.waiting import wait_until


def which_redis() -> str:
    """One phrase for the report header."""
    if os.environ.get("REDIS_URL", ""):
        return "Redis from REDIS_URL"
    if binary := shutil.which("redis-server"):
        return f"private Redis from {binary}"
    return "stand-in of fakeredis"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class RedisServer:
    """A Redis of our own on a loopback port: `with RedisServer() as server: … server.url … server.stop()`."""

    def __init__(self) -> None:
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.folder = tempfile.mkdtemp(prefix="tests-redis-")
        self.process: subprocess.Popen[bytes] | None = None
        self.stand_in: Any = None
        self.start()

    def start(self) -> None:
        """Start, or start again on the same port after `stop`."""
        if binary := shutil.which("redis-server"):
            options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
            self.process = subprocess.Popen(
                [binary, *options, "--dir", self.folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        else:
            from fakeredis import TcpFakeServer

            self.stand_in = TcpFakeServer(("127.0.0.1", self.port))
            threading.Thread(target=self.stand_in.serve_forever, daemon=True).start()
        wait_until(lambda: _answers(self.port), seconds=20, what="the Redis for tests answers")

    def stop(self) -> None:
        """Take it away, as an outage would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=10)
            self.process = None
        if self.stand_in is not None:
            self.stand_in.shutdown()
            self.stand_in.server_close()
            self.stand_in = None

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
