"""Pools of real processes for the tests of attempts."""

from __future__ import annotations

import itertools
import selectors
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scheduler_app.runtime.attempt_process import AttemptPool
from scheduler_app.runtime.attempt_spec import AttemptResult, AttemptSpec
from tests.conftest import on_postgresql

CONTEXT = {
    "execution_id": 11,
    "job_id": 7,
    "attempt": 2,
    "scheduled_for": "2026-03-08T07:00:00Z",
    "delivery_key": "key-of-the-slot",
    "fence": 42,
}
_keys = itertools.count(1)


class Bench:
    """A pool, and the few verbs a test needs on it."""

    def __init__(self, launcher: str) -> None:
        self.pool = AttemptPool(launcher=launcher)
        # A fresh interpreter with the settings loaded takes seconds on a busy machine.
        self.start_seconds = 0.7 if launcher == "fork" else 4.0

    def begin(
        self, task: str, config: dict[str, object] | None = None, *, timeout: float = 30, lease: float = 60
    ) -> str:
        """Start a task and return its key; `lease` is seconds from now."""
        key = f"attempt-{next(_keys)}"
        deadline = time.monotonic() + lease
        self.pool.start(AttemptSpec(key, task, config or {}, CONTEXT, timeout, deadline))
        return key

    def collect(self, count: int = 1, seconds: float = 20) -> dict[str, AttemptResult]:
        """Wait for that many results."""
        found: dict[str, AttemptResult] = {}
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.pool.fileno(), selectors.EVENT_READ)
            while len(found) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{len(found)} of {count} results within {seconds} s"
                selector.select(min(left, 1))
                found |= {result.key: result for result in self.pool.poll()}
        return found

    def run(
        self, task: str, config: dict[str, object] | None = None, *, timeout: float = 30, lease: float = 60
    ) -> AttemptResult:
        """Start one task and wait for its result."""
        key = self.begin(task, config, timeout=timeout, lease=lease)
        return self.collect()[key]


def pids_in(witness: Path) -> list[int]:
    """The pids a task has written down."""
    return [int(line) for line in witness.read_text().split()] if witness.exists() else []


def lives(pid: int) -> bool:
    """Whether a process is there and is more than a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def set_variables(patch: pytest.MonkeyPatch) -> None:
    """What a supervisor needs to load the sample tasks; the database of that name is never opened."""
    database = "postgres://nobody@127.0.0.1:1/none" if on_postgresql() else "unused.sqlite3"
    patch.setenv("TEST_CHILD_DATABASE", database)
    patch.setenv("SCHEDULER_TASK_MODULES", "tests.runtime.sample_tasks")
    patch.setenv("A_SECRET_OF_THE_SITE", "do not show")


@pytest.fixture(scope="session")
def make_bench() -> Iterator[Callable[[str], Bench]]:
    """Starts a pool that knows tests.runtime.sample_tasks; closed at the end of the session."""
    benches: list[Bench] = []

    def make(launcher: str) -> Bench:
        with pytest.MonkeyPatch.context() as patch:
            set_variables(patch)
            benches.append(Bench(launcher))
        return benches[-1]

    yield make
    for bench in benches:
        bench.pool.close(grace_seconds=5)


@pytest.fixture(scope="session", params=["fork", "spawn"])
def bench(request: pytest.FixtureRequest, make_bench: Callable[[str], Bench]) -> Bench:
    """A pool for tests that leave it as it was, once per launcher."""
    return make_bench(request.param)


@pytest.fixture
def own_bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A forking pool that the test may damage; a new supervisor of it finds the sample tasks as well."""
    set_variables(monkeypatch)
    bench = Bench("fork")
    yield bench
    bench.pool.close(grace_seconds=5)
