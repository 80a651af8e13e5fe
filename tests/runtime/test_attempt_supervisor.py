"""What becomes of attempts when the worker or their supervisor is killed or frozen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from scheduler_app.runtime import attempt_process
from scheduler_app.runtime.process_tree import children_of, kill, kill_abandoned
from tests.runtime.conftest import Bench, lives, pids_in, set_variables
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]


def living(witness: Path) -> list[int]:
    return [pid for pid in pids_in(witness) if lives(pid)]


def begin_waiting(bench: Bench, witness: Path, **limits: float) -> str:
    """A task that waits beside a helper process; both pids are in the witness file."""
    key = bench.begin("probe.wait", {"witness": str(witness)}, **limits)
    wait_until(lambda: len(living(witness)) >= 2, what="the task and its helper run")
    return key


def supervisor_of(bench: Bench) -> int:
    assert bench.pool.supervisor_pid is not None
    return bench.pool.supervisor_pid


@pytest.fixture
def lone_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Path], tuple[int, int]]]:
    """Starts a worker that only waits; gives its pid and that of its supervisor when its tasks run."""
    set_variables(monkeypatch)
    workers: list[subprocess.Popen[str]] = []

    def start(launcher: str, witness: Path) -> tuple[int, int]:
        command = [sys.executable, "-m", "tests.runtime.lone_worker", launcher, str(witness)]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        workers.append(worker)
        assert worker.stdout is not None
        supervisor = int(worker.stdout.readline())
        wait_until(lambda: len(living(witness)) == 6, seconds=20, what="both trees stand")
        return worker.pid, supervisor

    yield start
    for worker in workers:
        worker.kill()
        worker.communicate()


@pytest.mark.parametrize("launcher", ["fork", "spawn"])
def test_when_the_worker_is_killed_everything_ends(
    lone_worker: Callable[[str, Path], tuple[int, int]], tmp_path: Path, launcher: str
) -> None:
    witness = tmp_path / "pids"
    worker, supervisor = lone_worker(launcher, witness)
    os.kill(worker, signal.SIGKILL)

    wait_until(lambda: not living(witness), seconds=2, what="no process of an attempt is left")
    wait_until(lambda: not lives(supervisor), seconds=2, what="the supervisor has ended")


def test_what_a_killed_worker_and_a_killed_supervisor_leave_is_swept_by_the_next_start(
    lone_worker: Callable[[str, Path], tuple[int, int]], tmp_path: Path
) -> None:
    witness = tmp_path / "pids"
    worker, supervisor = lone_worker("fork", witness)
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not lives(supervisor), what="the supervisor is gone")
    assert living(witness)

    kill_abandoned()

    wait_until(lambda: len(living(witness)) <= 1, seconds=2, what="whatever carries the mark is gone")
    # The process that was given an empty environment carries no mark: nothing could find it any more.
    for pid in living(witness):
        kill(pid)


def test_a_frozen_worker_loses_its_tasks_when_its_own_time_runs_out(own_bench: Bench, tmp_path: Path) -> None:
    witness = tmp_path / "pids"
    own_bench.pool.extend_alive(time.monotonic() + 60)
    key = begin_waiting(own_bench, witness)
    own_bench.pool.extend_alive(time.monotonic() + 0.5)
    result = own_bench.collect()[key]

    assert result.outcome == "expired"
    assert not living(witness)


def test_after_its_time_ran_out_a_worker_starts_nothing_until_it_is_extended(own_bench: Bench) -> None:
    own_bench.pool.extend_alive(time.monotonic() - 1)
    assert own_bench.run("always_succeed").outcome == "expired"

    own_bench.pool.extend_alive(time.monotonic() + 60)
    assert own_bench.run("always_succeed").outcome == "succeeded"


def test_when_the_supervisor_is_killed_its_attempts_come_back_and_nothing_lives(
    own_bench: Bench, tmp_path: Path
) -> None:
    witness = tmp_path / "pids"
    key = own_bench.begin("probe.appoint_a_daemon", {"witness": str(witness)})
    wait_until(lambda: len(living(witness)) == 2, what="the task and its daemon run")
    os.kill(supervisor_of(own_bench), signal.SIGKILL)
    result = own_bench.collect()[key]

    assert result.outcome == "expired"
    assert "supervisor of this worker's attempts died" in result.error
    assert not living(witness)
    assert not own_bench.pool.alive()
    assert own_bench.pool.running() == 0


def test_the_next_start_after_a_death_launches_a_new_supervisor(own_bench: Bench) -> None:
    number = own_bench.pool.fileno()
    own_bench.pool.extend_alive(time.monotonic() + 60)
    os.kill(supervisor_of(own_bench), signal.SIGKILL)
    wait_until(lambda: not own_bench.pool.alive(), what="the death is noticed")

    assert own_bench.run("always_succeed").outcome == "succeeded"
    assert own_bench.pool.alive()
    assert own_bench.pool.fileno() == number


def test_an_attempt_that_was_running_when_a_new_one_starts_is_still_reported(
    own_bench: Bench, tmp_path: Path
) -> None:
    lost = begin_waiting(own_bench, tmp_path / "pids")
    os.kill(supervisor_of(own_bench), signal.SIGKILL)
    wait_until(lambda: not own_bench.pool.alive(), what="the death is noticed")
    good = own_bench.begin("always_succeed")
    results = own_bench.collect(2)

    assert (results[lost].outcome, results[good].outcome) == ("expired", "succeeded")


@pytest.mark.parametrize("bound", ["timeout", "lease"])
def test_under_a_frozen_supervisor_the_child_dies_by_its_own_deadline(
    own_bench: Bench, tmp_path: Path, bound: str
) -> None:
    witness = tmp_path / "pids"
    key = own_bench.begin(
        "probe.stubborn", {"witness": str(witness)}, timeout=1, lease=1.5 if bound == "lease" else 60
    )
    wait_until(lambda: pids_in(witness), what="the task runs")
    supervisor = supervisor_of(own_bench)
    os.kill(supervisor, signal.SIGSTOP)
    (pid,) = pids_in(witness)

    # The margin after a timeout is two seconds; a lease has none.
    wait_until(lambda: not lives(pid), seconds=5 if bound == "timeout" else 3, what="the child has ended")

    os.kill(supervisor, signal.SIGCONT)
    result = own_bench.collect()[key]
    assert (result.outcome, result.signal) == ("timed_out", "SIGKILL")


def test_a_supervisor_that_stands_still_past_a_deadline_is_killed_with_its_trees(
    own_bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_process, "OVERDUE_SECONDS", 0.5)
    witness = tmp_path / "pids"
    key = begin_waiting(own_bench, witness, timeout=1)
    os.kill(supervisor_of(own_bench), signal.SIGSTOP)
    result = own_bench.collect()[key]

    assert result.outcome == "expired" and "stood still" in result.error
    assert not living(witness)
    assert own_bench.run("always_succeed").outcome == "succeeded"


def test_signals_for_a_whole_group_do_not_take_the_supervisor_away(own_bench: Bench) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(supervisor_of(own_bench), number)

    assert own_bench.run("always_succeed").outcome == "succeeded"


def test_close_kills_what_runs_and_ends_the_supervisor(own_bench: Bench, tmp_path: Path) -> None:
    witness = tmp_path / "pids"
    key = begin_waiting(own_bench, witness)
    supervisor = supervisor_of(own_bench)
    (result,) = own_bench.pool.close(grace_seconds=5)

    assert (result.key, result.outcome) == (key, "terminated")
    assert not living(witness) and not lives(supervisor)


def test_three_hundred_attempts_leave_descriptors_threads_children_and_memory_flat(own_bench: Bench) -> None:
    supervisor = supervisor_of(own_bench)

    def rounds(count: int) -> None:
        for _ in range(count):
            for _ in range(20):
                own_bench.begin("always_succeed")
            results = own_bench.collect(20)
            assert {result.outcome for result in results.values()} == {"succeeded"}

    def footprint(pid: int) -> tuple[int, int, list[int]]:
        threads = len(os.listdir(f"/proc/{pid}/task"))
        return len(os.listdir(f"/proc/{pid}/fd")), threads, children_of(supervisor)

    rounds(2)
    before = footprint(supervisor), len(os.listdir("/proc/self/fd")), resident_kib(supervisor)
    rounds(15)
    after = footprint(supervisor), len(os.listdir("/proc/self/fd")), resident_kib(supervisor)

    assert before[:2] == after[:2]
    assert before[0][1:] == (1, [])
    assert after[2] - before[2] < 2_048


def resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"no VmRSS for {pid}")


def test_memory_of_the_supervisor_is_flat_while_output_pours(own_bench: Bench) -> None:
    supervisor = supervisor_of(own_bench)
    own_bench.run("probe.flood", {"megabytes": 1})
    before = resident_kib(supervisor)
    own_bench.run("probe.flood", {"megabytes": 200}, timeout=60)

    assert resident_kib(supervisor) - before < 4_096


def test_a_worker_that_does_not_read_blocks_no_child(own_bench: Bench) -> None:
    keys = {own_bench.begin("probe.flood", {"megabytes": 1}) for _ in range(30)}
    supervisor = supervisor_of(own_bench)
    wait_until(lambda: not children_of(supervisor) or None, seconds=30, what="all children have ended unread")

    assert own_bench.collect(30).keys() == keys


@pytest.fixture(autouse=True)
def nothing_is_left_stopped() -> Iterator[None]:
    """A supervisor that a failed test left frozen goes on and ends."""
    before = set(children_of(os.getpid()))
    yield
    for pid in set(children_of(os.getpid())) - before:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
