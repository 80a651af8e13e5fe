"""Attempts as the worker sees them, with real processes; what holds for one launcher holds for the other."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from scheduler_app.errors import SchedulerError
from scheduler_app.runtime.attempt_process import AttemptPool
from scheduler_app.runtime.attempt_spec import AttemptSpec
from scheduler_app.runtime.output_capture import MAX_STORED_CHARACTERS
from tests.runtime.conftest import CONTEXT, Bench, lives, pids_in, set_variables
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]


def test_a_task_that_returns_succeeds_with_its_value_and_output(bench: Bench) -> None:
    result = bench.run("probe.echo")

    assert (result.outcome, result.exit_code, result.signal) == ("succeeded", 0, None)
    assert result.output == "logged\n"
    assert result.error == ""
    assert result.result == {
        "execution_id": 11,
        "job_id": 7,
        "attempt": 2,
        "scheduled_for": "2026-03-08T07:00:00+00:00",
        "delivery_key": "key-of-the-slot",
        "fence": 42,
    }
    assert result.progress == (3, 10)
    assert result.cpu_seconds is not None and 0 < result.cpu_seconds < 20
    assert result.peak_rss_bytes is not None and result.peak_rss_bytes > 5_000_000
    assert result.started_monotonic is not None and result.ended_monotonic is not None
    assert result.started_monotonic < result.ended_monotonic <= time.monotonic()


def test_a_task_that_raises_fails_with_its_traceback_from_the_task_on(bench: Bench) -> None:
    result = bench.run("always_fail")

    assert (result.outcome, result.exit_code) == ("failed", 1)
    assert result.error.startswith("Traceback (most recent call last):\n")
    assert "RuntimeError: always_fail fails on purpose" in result.error
    assert "attempt_child.py" not in result.error
    assert result.output == "About to fail, attempt 2.\n"


def test_non_retryable_is_told_apart(bench: Bench) -> None:
    result = bench.run("probe.non_retryable")

    assert result.outcome == "non_retryable"
    assert "this order does not exist" in result.error


def test_stderr_of_a_good_run_is_kept(bench: Bench) -> None:
    result = bench.run("probe.chatter_on_stderr")

    assert (result.outcome, result.error) == ("succeeded", "a warning\n")


def test_a_task_nobody_knows_fails_with_its_name(bench: Bench) -> None:
    result = bench.run("always_suceed")

    assert result.outcome == "failed"
    assert "'always_suceed'" in result.error and "Did you mean always_succeed?" in result.error


def test_a_config_that_no_longer_fits_the_task_is_not_retried(bench: Bench) -> None:
    result = bench.run("sleep_for_seconds", {"seconds": -1})

    assert result.outcome == "non_retryable"
    assert "config.seconds" in result.error and "Traceback" not in result.error


def test_a_config_that_is_no_json_fails_without_raising(bench: Bench) -> None:
    result = bench.run("always_succeed", {"when": {1, 2}})

    assert result.outcome == "failed"
    assert "not JSON serializable" in result.error


def test_a_key_that_is_still_running_is_refused(bench: Bench) -> None:
    key = bench.begin("sleep_for_seconds", {"seconds": 60})
    with pytest.raises(ValueError, match="still running"):
        bench.pool.start(AttemptSpec(key, "always_succeed", {}, CONTEXT, 5, time.monotonic() + 5))
    bench.pool.terminate(key)
    assert bench.collect()[key].outcome == "terminated"


def test_ending_the_process_before_returning_is_not_a_success(bench: Bench) -> None:
    result = bench.run("probe.exit", {"code": 0})

    assert (result.outcome, result.exit_code) == ("failed", 0)
    assert "the task ended its process before returning" in result.error


def test_an_exit_code_without_an_answer_is_told(bench: Bench) -> None:
    result = bench.run("probe.exit", {"code": 7})

    assert (result.outcome, result.exit_code) == ("failed", 7)
    assert "exit code 7" in result.error


def test_sys_exit_with_zero_counts_as_returning_and_with_more_as_failing(bench: Bench) -> None:
    bench.begin("probe.exit", {"how": "sys", "code": 0})
    bench.begin("probe.exit", {"how": "sys", "code": 3})
    good, bad = sorted(bench.collect(2).values(), key=lambda result: result.outcome, reverse=True)

    assert (good.outcome, good.result) == ("succeeded", None)
    assert bad.outcome == "failed" and "sys.exit(3)" in bad.error


def test_any_exception_class_is_a_failure(bench: Bench) -> None:
    bench.begin("probe.raise_base")
    bench.begin("probe.unspeakable")
    results = list(bench.collect(2).values())

    assert [result.outcome for result in results] == ["failed", "failed"]
    assert any("KeyboardInterrupt" in result.error for result in results)
    assert any("UnspeakableError" in result.error for result in results)


def test_a_signal_is_told_by_name(bench: Bench) -> None:
    result = bench.run("probe.signal_itself", {"number": int(signal.SIGSEGV)})

    assert (result.outcome, result.exit_code, result.signal) == ("failed", None, "SIGSEGV")
    assert "SIGSEGV (signal 11)" in result.error


def test_a_copy_of_the_task_that_returns_does_not_report(bench: Bench) -> None:
    assert bench.run("probe.fork_returns").result == "original"


@pytest.mark.parametrize("what", ["object", "nan", "large", "deep", "bytes", "wide"])
def test_a_value_that_cannot_be_kept_does_not_undo_the_success(bench: Bench, what: str) -> None:
    result = bench.run("probe.return", {"what": what})

    assert (result.outcome, result.result) == ("succeeded", None)
    assert result.output.startswith("printed before\n[The return value was not stored: ")


def test_texts_and_keys_of_a_value_are_made_storable(bench: Bench) -> None:
    bench.begin("probe.return", {"what": "text"})
    bench.begin("probe.return", {"what": "keys"})
    values = [result.result for result in bench.collect(2).values()]

    assert {"n\ufffdul": "\ufffd and \ufffd"} in values
    assert {"1": [1, 2], "null": True} in values


# --- output


def test_nul_and_lone_surrogates_are_replaced_in_output_and_traceback(bench: Bench) -> None:
    result = bench.run("probe.write_and_raise")

    assert result.outcome == "failed"
    assert result.output == "a\ufffdb\n"
    assert result.error.startswith("a\ufffdb\n")
    assert "ValueError: x\ufffdy \ufffd" in result.error


def test_bad_bytes_do_not_hide_the_good_ones(bench: Bench) -> None:
    result = bench.run("probe.bad_bytes")

    assert result.outcome == "succeeded"
    assert result.output == "hi\n\ufffd\ufffd\ufffd(\ncaf\ufffd ends\n"


def test_a_flood_on_both_pipes_blocks_nobody_and_is_cut_with_its_true_size(bench: Bench) -> None:
    result = bench.run("probe.flood", {"megabytes": 10})

    assert result.outcome == "succeeded"
    for text, name in ((result.output, "stdout"), (result.error, "stderr")):
        assert len(text) <= MAX_STORED_CHARACTERS
        assert "of 11,534,354 characters cut here" in text
        assert text.startswith("xxx") and text.endswith(f"the end of {name}\n")


def test_the_tail_of_a_long_traceback_outlives_a_flood_on_stderr(bench: Bench) -> None:
    result = bench.run("probe.long_message")

    assert len(result.error) <= MAX_STORED_CHARACTERS
    assert result.error.startswith("eee")
    assert "Traceback (most recent call last)" in result.error
    assert result.error.endswith("the last words\n")


def test_dots_do_not_extend_the_timeout_and_are_kept(bench: Bench) -> None:
    seconds = bench.start_seconds
    begin = time.monotonic()
    result = bench.run("probe.dot_each_moment", timeout=seconds)

    assert result.outcome == "timed_out"
    assert seconds <= time.monotonic() - begin < seconds + 3
    assert set(result.output) == {"."}
    assert f"killed after {seconds:g} s" in result.error


# --- trees and deadlines


def test_a_timeout_kills_the_tree_and_what_left_it(bench: Bench, tmp_path: Path) -> None:
    witness = tmp_path / "pids"
    result = bench.run("probe.tree_that_escapes", {"witness": str(witness)}, timeout=bench.start_seconds)

    assert (result.outcome, result.signal) == ("timed_out", "SIGKILL")
    pids = pids_in(witness)
    assert len(pids) == 4
    assert [pid for pid in pids if lives(pid)] == []


def test_a_process_left_behind_holds_neither_the_attempt_nor_its_life(bench: Bench, tmp_path: Path) -> None:
    witness = tmp_path / "pids"
    begin = time.monotonic()
    result = bench.run("probe.daemon_left_behind", {"witness": str(witness)})

    assert (result.outcome, result.result) == ("succeeded", "returned")
    assert time.monotonic() - begin < bench.start_seconds + 2
    (daemon,) = pids_in(witness)
    assert not lives(daemon)


def test_a_task_that_ignores_every_signal_is_killed_at_its_timeout(bench: Bench, tmp_path: Path) -> None:
    result = bench.run("probe.stubborn", {"witness": str(tmp_path / "pids")}, timeout=bench.start_seconds)

    assert result.outcome == "timed_out"
    assert [pid for pid in pids_in(tmp_path / "pids") if lives(pid)] == []


def test_the_end_of_the_lease_comes_before_a_longer_timeout(bench: Bench, tmp_path: Path) -> None:
    result = bench.run(
        "probe.wait", {"witness": str(tmp_path / "pids")}, timeout=60, lease=bench.start_seconds
    )

    assert result.outcome == "expired"
    assert "right to run" in result.error
    assert [pid for pid in pids_in(tmp_path / "pids") if lives(pid)] == []


def test_an_attempt_whose_lease_is_over_never_starts(bench: Bench, tmp_path: Path) -> None:
    result = bench.run("probe.wait", {"witness": str(tmp_path / "pids")}, lease=-1)

    assert (result.outcome, pids_in(tmp_path / "pids")) == ("expired", [])


def test_terminate_kills_the_tree_and_keeps_the_output(bench: Bench, tmp_path: Path) -> None:
    witness = tmp_path / "pids"
    key = bench.begin("probe.tree_that_escapes", {"witness": str(witness)})
    wait_until(lambda: len(pids_in(witness)) == 4, what="the tree stands")
    bench.pool.terminate(key)
    result = bench.collect()[key]

    assert (result.outcome, result.error) == ("terminated", "terminated on request.")
    assert [pid for pid in pids_in(witness) if lives(pid)] == []


def test_an_orphan_belongs_to_its_task_while_that_runs(bench: Bench, tmp_path: Path) -> None:
    """The end of another attempt, which sweeps orphans, must not take it away."""
    witness, go = tmp_path / "pids", tmp_path / "go"
    key = bench.begin("probe.daemon_in_use", {"witness": str(witness), "go": str(go)})
    (daemon,) = wait_until(lambda: pids_in(witness), what="the daemon runs")
    assert bench.run("probe.daemon_left_behind", {"witness": str(tmp_path / "other")}).outcome == "succeeded"
    go.touch()
    result = bench.collect()[key]

    assert (result.outcome, result.result) == ("succeeded", True)
    assert not lives(daemon)


def test_terminating_at_once_after_a_burst_of_starts_leaves_nothing(bench: Bench) -> None:
    keys = [bench.begin("sleep_for_seconds", {"seconds": 60}) for _ in range(6)]
    for key in keys:
        bench.pool.terminate(key)

    assert {result.outcome for result in bench.collect(6).values()} == {"terminated"}
    assert bench.pool.running() == 0


def test_terminating_what_has_ended_is_harmless(bench: Bench) -> None:
    bench.pool.terminate("never started")
    assert bench.run("always_succeed").outcome == "succeeded"


# --- what a child sees


def test_secrets_of_the_environment_are_not_visible(bench: Bench) -> None:
    assert os.environ.get("PATH")
    seen = bench.run("probe.environment").result
    assert isinstance(seen, dict)

    for names in (seen["own"], seen["inherited"]):
        assert "PATH" in names and "SCHEDULER_TASK_DELIVERY_KEY" in names
        for secret in ("A_SECRET_OF_THE_SITE", "TEST_CHILD_DATABASE", "SCHEDULER_TASK_MODULES", "SECRET_KEY"):
            assert secret not in names
        allowed = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "SYSTEMROOT", ""}
        extra = {name for name in names if not name.startswith(("LC_", "SCHEDULER_TASK_"))} - allowed
        assert extra <= {"_", "PWD", "SHLVL"}


def test_a_child_starts_clean(bench: Bench) -> None:
    bench.begin("probe.surroundings")
    bench.begin("probe.surroundings")
    first, second = (result.result for result in bench.collect(2).values())
    assert isinstance(first, dict) and isinstance(second, dict)

    # The listing itself holds one more descriptor for a moment.
    assert set(first["descriptors"]) <= {0, 1, 2, 3, 4}
    assert first["threads"] == 1
    assert first["leads_session"] and first["sigterm_is_default"] and first["sigchld_is_default"]
    assert first["stdin"] == ""
    assert first["random"] != second["random"]


# --- starting


def test_a_site_module_that_fails_stops_the_start_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    set_variables(monkeypatch)
    monkeypatch.setenv("SCHEDULER_TASK_MODULES", "tests.runtime.no_such_module")

    with pytest.raises(SchedulerError) as caught:
        AttemptPool(launcher="fork")

    assert "tests.runtime.no_such_module cannot be loaded: ModuleNotFoundError" in caught.value.message
    assert "\n" not in caught.value.message


def test_only_two_launchers_exist() -> None:
    with pytest.raises(ValueError, match="want fork or spawn"):
        AttemptPool(launcher="thread")
