"""Several processes as one: they begin together, end together, and nothing of them is left."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from scheduler_app.runtime import process_group
from scheduler_app.runtime.process_group import Member, ProcessGroup, manage_command
from tests.runtime.conftest import lives, pids_in
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(os.name == "nt", reason="signals as of POSIX"),
]

WRITE_PID = "import os, signal, sys; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n');"


def member(name: str, witness: Path, then: str) -> Member:
    """A Python one-liner that writes down its pid first."""
    return Member(name, (sys.executable, "-c", f"{WRITE_PID} {then}", str(witness)))


def stop_us() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def gone(witness: Path) -> bool:
    return not any(lives(pid) for pid in pids_in(witness))


def test_the_end_of_one_ends_all_and_its_name_is_told(tmp_path: Path) -> None:
    witness = tmp_path / "pids"
    group = ProcessGroup([member("web", witness, "signal.pause()"), member("worker", witness, "sys.exit(3)")])

    assert group.run(ready=lambda: False, when_ready=lambda: None) == "worker"
    assert gone(witness)


def test_a_stop_ends_all_and_names_nobody(tmp_path: Path) -> None:
    witness = tmp_path / "pids"
    group = ProcessGroup([member(name, witness, "signal.pause()") for name in ("web", "scheduler", "worker")])

    ended = group.run(ready=lambda: len(pids_in(witness)) == 3, when_ready=stop_us)

    assert ended == ""
    assert len(pids_in(witness)) == 3
    assert gone(witness)


def test_readiness_is_told_once(tmp_path: Path) -> None:
    witness, told = tmp_path / "pids", list[int]()

    def ready_twice() -> bool:
        return len(pids_in(witness)) == 1

    def tell() -> None:
        told.append(1)
        stop_us()

    ProcessGroup([member("web", witness, "signal.pause()")]).run(ready=ready_twice, when_ready=tell)

    assert told == [1]


def test_a_member_that_ignores_sigterm_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_group, "END_SECONDS", 1.0)
    witness = tmp_path / "pids"
    stubborn = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); child = os.fork();"
        " child or open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); signal.pause(); signal.pause()"
    )
    group = ProcessGroup([member("worker", witness, stubborn)])

    group.run(ready=lambda: len(pids_in(witness)) == 2, when_ready=stop_us)

    wait_until(lambda: gone(witness), what="both processes are gone")


def test_members_hear_of_the_end_before_they_are_killed(tmp_path: Path) -> None:
    witness, farewell = tmp_path / "pids", tmp_path / "farewell"
    orderly = (
        f"signal.signal(signal.SIGTERM, lambda *_: (open({str(farewell)!r}, 'w').write('bye'), sys.exit(0)));"
        " signal.pause()"
    )
    group = ProcessGroup([member("worker", witness, orderly)])

    group.run(
        ready=lambda: pids_in(witness) != [] and handles_sigterm(pids_in(witness)[0]), when_ready=stop_us
    )

    assert farewell.read_text() == "bye"


def handles_sigterm(pid: int) -> bool:
    """Whether the process has installed its handler, as the kernel sees it."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & (1 << (signal.SIGTERM - 1)))


def test_a_management_command_runs_under_this_interpreter() -> None:
    assert manage_command("worker", "run") == (sys.executable, "-m", "django", "worker", "run")
