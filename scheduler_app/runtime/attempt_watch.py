"""One running attempt as its supervisor sees it: pipes, captured text, deadlines, and its end.

Reading never blocks and memory stays flat at any amount of output. The pipes are closed when the process tree
is gone, also when a process that escaped still holds the other end.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from resource import struct_rusage
from typing import cast

from scheduler_app.runtime.attempt_channel import BrokenStream, Message, MessageBuffer
from scheduler_app.runtime.attempt_launch import Launched
from scheduler_app.runtime.attempt_outcome import ProcessEnd, cut_short_sentence, judge
from scheduler_app.runtime.attempt_spec import AttemptResult, AttemptSpec, Outcome
from scheduler_app.runtime.output_capture import (
    MAX_STORED_CHARACTERS,
    CapturedStream,
    clean,
    compose_error,
)
from scheduler_app.runtime.process_tree import ON_LINUX, kill, kill_group

# How long the killing of a tree is tried before its attempt is reported anyway.
TREE_SECONDS = 2.0
_READ_BYTES = 64 * 1024
# One full pipe, even when its size was raised to the usual system limit of 1 MiB.
_MAX_DRAIN_READS = 32
_MAX_RECORD_BYTES = 1024 * 1024


@dataclass(slots=True)
class RunningAttempt:
    """Mutable state of one attempt; owned by the supervisor's only thread."""

    spec: AttemptSpec
    launched: Launched
    kill_reason: Outcome | None = None
    killed_monotonic: float | None = None
    end: ProcessEnd | None = None
    usage: struct_rusage | None = None
    stdout: CapturedStream = field(default_factory=CapturedStream)
    stderr: CapturedStream = field(default_factory=CapturedStream)
    record: Message | None = None
    progress: tuple[int, int] | None = None
    tree_left: bool = False
    open_pipes: dict[int, Callable[[bytes], None]] = field(init=False)
    _records: MessageBuffer = field(init=False)

    def __post_init__(self) -> None:
        self._records = MessageBuffer(_MAX_RECORD_BYTES)
        self.open_pipes = {
            self.launched.stdout_fd: self.stdout.feed,
            self.launched.stderr_fd: self.stderr.feed,
            self.launched.result_fd: self._take_record,
        }

    @property
    def next_look_at(self) -> float:
        """When something is to be done even if the process says nothing: kill it, then give it up."""
        if self.killed_monotonic is not None:
            return self.killed_monotonic + TREE_SECONDS
        return self.spec.deadline(self.launched.started_monotonic)

    def kill_if_overdue(self, now: float) -> None:
        """Enforce the deadline."""
        started = self.launched.started_monotonic
        if now >= self.spec.deadline(started):
            self.kill(self.spec.deadline_outcome(started), now)

    def kill(self, reason: Outcome, now: float) -> None:
        """Kill the main process and its group, once; what escaped the group is swept as an orphan."""
        if self.kill_reason is not None or self.end is not None:
            return
        self.kill_reason = reason
        self.killed_monotonic = now
        kill(self.launched.pid)
        kill_group(self.launched.pid)

    def read(self, descriptor: int) -> bool:
        """Take what one read gives. False when the pipe has ended."""
        take = self.open_pipes[descriptor]
        try:
            data = os.read(descriptor, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return True
        if data:
            take(data)
        return bool(data)

    def exited(self, wait_status: int, usage: struct_rusage, now: float) -> None:
        """The main process is gone and reaped."""
        self.usage = usage
        if not ON_LINUX:
            kill_group(self.launched.pid)
        self.drain()
        self.end = ProcessEnd(
            wait_status=wait_status,
            record=self.record,
            kill_reason=self.kill_reason,
            started_monotonic=self.launched.started_monotonic,
            ended_monotonic=now,
        )

    def give_up_if_unkillable(self, now: float) -> bool:
        """Whether a killed process is still there after two seconds; it then counts as ended by the kill."""
        if (
            self.end is not None
            or self.killed_monotonic is None
            or now < self.killed_monotonic + TREE_SECONDS
        ):
            return False
        self.end = ProcessEnd(
            wait_status=signal.SIGKILL,
            record=self.record,
            kill_reason=self.kill_reason,
            started_monotonic=self.launched.started_monotonic,
            ended_monotonic=now,
        )
        self.tree_left = True
        return True

    def drain(self) -> None:
        """Take what lies in the pipes, bounded, so that an escaped writer cannot hold us here."""
        for descriptor, take in self.open_pipes.items():
            for _ in range(_MAX_DRAIN_READS):
                try:
                    data = os.read(descriptor, _READ_BYTES)
                except OSError:
                    break
                if not data:
                    break
                take(data)

    def close_pipe(self, descriptor: int) -> None:
        """Close one read end."""
        del self.open_pipes[descriptor]
        with suppress(OSError):
            os.close(descriptor)

    def result(self) -> AttemptResult:
        """The result to report. The process has ended and the pipes are closed."""
        assert self.end is not None
        self.stdout.finish()
        self.stderr.finish()
        judgement = judge(self.spec, self.end)
        failure = judgement.failure
        if self.tree_left:
            failure = f"{failure}\nSome processes it started could not be killed.".lstrip()
        record = self.record or {}
        succeeded = judgement.outcome == "succeeded"
        return AttemptResult(
            key=self.spec.key,
            outcome=judgement.outcome,
            output=self._output(str(record.get("note", "")) if succeeded else ""),
            error=compose_error(self.stderr, failure),
            result=record.get("result") if succeeded else None,
            exit_code=self.end.exit_code,
            signal=self.end.signal_name,
            cpu_seconds=_cpu_seconds(self.usage),
            peak_rss_bytes=_peak_rss_bytes(self.usage),
            started_monotonic=self.launched.started_monotonic,
            ended_monotonic=self.end.ended_monotonic,
            progress=self.progress,
        )

    def _output(self, note: str) -> str:
        if not note:
            return self.stdout.text()
        told = clean(f"[{note[:500]}]\n")
        printed = self.stdout.text(MAX_STORED_CHARACTERS - len(told) - 1)
        return printed + ("" if printed.endswith("\n") or not printed else "\n") + told

    def _take_record(self, data: bytes) -> None:
        """The first answer counts; a stream that is not ours is ignored and the exit status decides."""
        try:
            messages = self._records.feed(data)
        except BrokenStream:
            self.record = None
            self._records = MessageBuffer(0)
            return
        for message in messages:
            if "ok" in message:
                self.record = self.record or message
            elif _is_progress(message.get("progress")):
                self.progress = cast(tuple[int, int], tuple(cast(list[int], message["progress"])))


def refused(spec_key: str, reason: str, now: float) -> AttemptResult:
    """The result of an attempt that never got a process."""
    return AttemptResult(spec_key, "failed", error=clean(reason), started_monotonic=now, ended_monotonic=now)


def never_started(spec: AttemptSpec, outcome: Outcome, now: float) -> AttemptResult:
    """The result of an attempt that was called off, or whose time had run out, before it could start."""
    sentence = cut_short_sentence(outcome, spec)
    return AttemptResult(spec.key, outcome, error=sentence, started_monotonic=now, ended_monotonic=now)


def _is_progress(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value)


def _cpu_seconds(usage: struct_rusage | None) -> float | None:
    return None if usage is None else round(usage.ru_utime + usage.ru_stime, 6)


def _peak_rss_bytes(usage: struct_rusage | None) -> int | None:
    """Linux counts in KiB, macOS in bytes."""
    if usage is None:
        return None
    return usage.ru_maxrss * 1024 if ON_LINUX else usage.ru_maxrss
