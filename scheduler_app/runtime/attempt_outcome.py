"""Decides how an attempt ended from what its process left behind; pure, no process is touched.

Success needs both: a record that says so and exit status 0. What nobody saw is not success. An attempt that
had already succeeded when a kill was on its way stays a success, because that is what happened.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_app.runtime.attempt_spec import AttemptSpec, Outcome

# A kernel timer may be seen this much before the bound it was set to.
_TIMER_SLACK_SECONDS = 0.05

# The exit status of a child that has reported a failure.
TOLD_FAILURE_STATUS = 1

ENDED_EARLY = "the task ended its process before returning"


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """What is known when the main process is gone.

    `wait_status` is that of wait4; `record` what the child reported, None when nothing; `kill_reason` why the
    supervisor killed it, None when it did not.
    """

    wait_status: int
    record: Mapping[str, object] | None
    kill_reason: Outcome | None
    started_monotonic: float
    ended_monotonic: float

    @property
    def exit_code(self) -> int | None:
        """The exit code, None after a signal."""
        return os.WEXITSTATUS(self.wait_status) if os.WIFEXITED(self.wait_status) else None

    @property
    def signal_number(self) -> int | None:
        """The signal that ended the process, None when it exited."""
        return os.WTERMSIG(self.wait_status) if os.WIFSIGNALED(self.wait_status) else None

    @property
    def signal_name(self) -> str | None:
        """The signal by name, as `SIGKILL`."""
        return None if self.signal_number is None else signal_name(self.signal_number)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome, and the sentence or traceback that explains it; empty for a success."""

    outcome: Outcome
    failure: str = ""


def judge(spec: AttemptSpec, end: ProcessEnd) -> Judgement:
    """Outcome and explanation of an ended attempt."""
    record = end.record or {}
    if record.get("ok") is True and end.exit_code == 0:
        return Judgement("succeeded")
    cut_short = end.kill_reason or _own_deadline_reason(spec, end)
    if cut_short is not None:
        return Judgement(cut_short, cut_short_sentence(cut_short, spec))
    if record.get("ok") is False:
        outcome: Outcome = "non_retryable" if record.get("non_retryable") else "failed"
        return Judgement(outcome, str(record.get("error", "")) + _odd_end(end))
    return Judgement("failed", _end_without_answer(end, returned=record.get("ok") is True))


def cut_short_sentence(outcome: Outcome, spec: AttemptSpec) -> str:
    """Why the process was killed, for people."""
    if outcome == "timed_out":
        return f"timed out: killed after {spec.timeout_seconds:g} s (timeout_seconds)."
    if outcome == "terminated":
        return "terminated on request."
    return "killed: the worker's right to run this attempt ended before the task did."


def signal_name(number: int) -> str:
    """`SIGKILL`, `SIGRTMIN+3`, else `signal 70`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        lowest = getattr(signal, "SIGRTMIN", number)
        return f"SIGRTMIN+{number - lowest}" if number > lowest else f"signal {number}"


def _own_deadline_reason(spec: AttemptSpec, end: ProcessEnd) -> Outcome | None:
    """The child's own alarm is the last resort; which bound it served tells the outcome."""
    if end.signal_number not in {signal.SIGALRM, signal.SIGKILL}:
        return None
    if end.ended_monotonic < spec.deadline(end.started_monotonic) - _TIMER_SLACK_SECONDS:
        return None
    return spec.deadline_outcome(end.started_monotonic)


def _odd_end(end: ProcessEnd) -> str:
    if end.exit_code == TOLD_FAILURE_STATUS:
        return ""
    how = end.signal_name or f"exit code {end.exit_code}"
    return f"\n(Its process then ended with {how}.)"


def _end_without_answer(end: ProcessEnd, *, returned: bool) -> str:
    if returned:
        how = (
            f"was killed by {end.signal_name}" if end.signal_name else f"ended with exit code {end.exit_code}"
        )
        return f"the task returned, but its process {how}."
    if end.signal_number is not None:
        hint = " Was the host out of memory?" if end.signal_number == signal.SIGKILL else ""
        return f"the process of the task was killed by {end.signal_name} (signal {end.signal_number}).{hint}"
    return f"{ENDED_EARLY} (exit code {end.exit_code})."
