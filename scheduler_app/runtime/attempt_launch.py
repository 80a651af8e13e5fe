"""Two ways to start the process of an attempt: fork of a warm parent, or a fresh interpreter.

Both give the same: a process in its own session, and the read ends of three pipes (stdout, stderr, result).
Fork is for Linux; elsewhere a forked Python with system libraries loaded is not safe, so a fresh one starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from scheduler_app.runtime.attempt_child import run_forked
from scheduler_app.runtime.attempt_spec import AttemptSpec

FORK = "fork"
SPAWN = "spawn"
CHILD_MODULE = "scheduler_app.runtime.attempt_child"


@dataclass(frozen=True, slots=True)
class Launched:
    """A started process and the read ends of its pipes, which do not block."""

    pid: int
    started_monotonic: float
    stdout_fd: int
    stderr_fd: int
    result_fd: int


class Launcher(Protocol):
    """Starts one process. Raises OSError when the system refuses; then nothing is left open."""

    def __call__(self, spec: AttemptSpec) -> Launched: ...


def default_launcher_name() -> str:
    """`fork` on Linux, `spawn` elsewhere."""
    return FORK if sys.platform.startswith("linux") else SPAWN


def launcher_named(name: str, site_environment: Mapping[str, str]) -> Launcher:
    """The launcher of this name; a fresh interpreter needs the environment of the site for its settings."""
    check_launcher(name)
    return launch_by_fork if name == FORK else partial(launch_by_spawn, site_environment=site_environment)


def check_launcher(name: str) -> None:
    """Raises ValueError for any name other than `fork` and `spawn`."""
    if name not in (FORK, SPAWN):
        raise ValueError(f"{name!r} is not a launcher; want fork or spawn.")


class _Pipes:
    """Three pipes: the read ends are kept on success, everything is closed on failure."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.write: list[int] = []
        try:
            for _ in range(3):
                read_end, write_end = os.pipe()
                self.read.append(read_end)
                self.write.append(write_end)
                os.set_blocking(read_end, False)
        except OSError:
            self.close_all()
            raise

    def close_write_ends(self) -> None:
        for descriptor in self.write:
            os.close(descriptor)
        self.write.clear()

    def close_all(self) -> None:
        self.close_write_ends()
        for descriptor in self.read:
            with suppress(OSError):
                os.close(descriptor)


def launch_by_fork(spec: AttemptSpec) -> Launched:
    """Fork this process, which must have one thread and no database connection."""
    pipes = _Pipes()
    supervisor_pid = os.getpid()
    started = time.monotonic()
    try:
        pid = os.fork()
    except OSError:
        pipes.close_all()
        raise
    if pid == 0:
        stdout_fd, stderr_fd, result_fd = pipes.write
        run_forked(
            spec,
            stdout_fd=stdout_fd,
            stderr_fd=stderr_fd,
            result_fd=result_fd,
            parent_pid=supervisor_pid,
            started_monotonic=started,
        )
    pipes.close_write_ends()
    return Launched(pid, started, *pipes.read)


def launch_by_spawn(spec: AttemptSpec, *, site_environment: Mapping[str, str]) -> Launched:
    """Start a fresh interpreter; the attempt is on its stdin as a file, so nobody waits for it to read."""
    pipes = _Pipes()
    started = time.monotonic()
    try:
        with tempfile.TemporaryFile() as stdin:
            stdin.write(json.dumps(spec.to_json()).encode())
            stdin.seek(0)
            pid = _popen(stdin.fileno(), pipes, started, site_environment)
    except (OSError, subprocess.SubprocessError):
        pipes.close_all()
        raise
    pipes.close_write_ends()
    return Launched(pid, started, *pipes.read)


def _popen(stdin_fd: int, pipes: _Pipes, started: float, environment: Mapping[str, str]) -> int:
    stdout_fd, stderr_fd, result_fd = pipes.write
    process = subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", CHILD_MODULE),
            *("--result-fd", str(result_fd), "--parent-pid", str(os.getpid()), "--started", repr(started)),
        ],
        stdin=stdin_fd,
        stdout=stdout_fd,
        stderr=stderr_fd,
        pass_fds=(result_fd,),
        env=environment,
        start_new_session=True,
    )
    # The supervisor reaps all its children itself; this object must not wait for the pid as well.
    process.returncode = 0
    return process.pid
