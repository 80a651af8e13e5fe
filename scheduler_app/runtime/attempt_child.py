"""The process of one attempt: what it may see, how it runs the task, what it reports.

It has its own session, no descriptor of its parents, an allow-listed environment and a deadline of its own,
so it dies in time even when everybody above it is frozen. It writes one record to the result pipe:
{ok, result | error, non_retryable}. `sys.exit(0)` or `sys.exit()` in a task counts as returning None; any
other SystemExit is a failure, as is every exception, of whatever class.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from typing import NoReturn

import django
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from scheduler_app.errors import NonRetryable, ValidationFailed
from scheduler_app.runtime.attempt_channel import Message, encode
from scheduler_app.runtime.attempt_outcome import TOLD_FAILURE_STATUS
from scheduler_app.runtime.attempt_result_value import UnstorableResult, storable_result
from scheduler_app.runtime.attempt_spec import AttemptSpec
from scheduler_app.runtime.output_capture import shorten
from scheduler_app.runtime.process_tree import MARK_VARIABLE, become_subreaper, die_with_parent, kill_me_after
from scheduler_app.tasks.context import TaskContext
from scheduler_app.tasks.registry import Task, get_task, load_tasks, unknown_task_message
from scheduler_app.tasks.schema import apply_schema

RESULT_FD = 3
KEPT_VARIABLES = frozenset({"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "SYSTEMROOT", MARK_VARIABLE})

_opened: set[str] = set()
_MAX_TRACEBACK_CHARACTERS = 40_000
_PARENT_GONE = 113


class _LiveText(io.TextIOWrapper):
    """Text that leaves the process with each write: what was printed before a kill is not lost."""

    def write(self, text: str, /) -> int:
        written = super().write(text)
        self.flush()
        return written


@receiver(connection_created)
def _remember_connection(connection: BaseDatabaseWrapper, **about: object) -> None:
    _opened.add(connection.alias)


def drop_site_environment() -> dict[str, str]:
    """Leave only what a task may see, for this process and all it forks. Returns what was there before."""
    before = dict(os.environ)
    for name in before:
        if name not in KEPT_VARIABLES and not name.startswith("LC_"):
            del os.environ[name]
    return before


def guard_process(spec: AttemptSpec, parent_pid: int, started_monotonic: float) -> None:
    """Tie the life of this process to its parent and its deadline, and take in its orphans.

    The alarm survives exec, the kernel timer survives a task that ignores or uses the alarm itself.
    """
    become_subreaper()
    if not die_with_parent(parent_pid) and os.getppid() != parent_pid:
        os._exit(_PARENT_GONE)
    left = max(spec.own_deadline(started_monotonic) - time.monotonic(), 0.001)
    signal.setitimer(signal.ITIMER_REAL, left)
    kill_me_after(left + 0.1)


def run_forked(
    spec: AttemptSpec,
    *,
    stdout_fd: int,
    stderr_fd: int,
    result_fd: int,
    parent_pid: int,
    started_monotonic: float,
) -> NoReturn:
    """Be the child of a fork: never returns, whatever happens."""
    status = 1
    try:
        _reset_signals()
        os.setsid()
        guard_process(spec, parent_pid, started_monotonic)
        _keep_only(stdout_fd, stderr_fd, result_fd)
        random.seed()
        status = run_attempt(spec)
    except BaseException:
        os.write(2, traceback.format_exc(limit=-5).encode(errors="backslashreplace"))
    finally:
        os._exit(status)


def run_attempt(spec: AttemptSpec) -> int:
    """Run the task and write its record. Returns the exit status: 0 when the task succeeded, else 1."""
    _open_standard_streams()
    _tell_by_environment(spec)
    own_pid = os.getpid()
    record = _record_of(spec)
    _flush_standard_streams()
    if os.getpid() != own_pid:
        return 0
    _write_record(record)
    _close_connections()
    return 0 if record["ok"] else TOLD_FAILURE_STATUS


def _tell_by_environment(spec: AttemptSpec) -> None:
    """The context once more, for programs that the task starts."""
    os.environ["SCHEDULER_TASK_NAME"] = spec.task
    for name, value in spec.context.items():
        if value is not None:
            os.environ[f"SCHEDULER_TASK_{name.upper()}"] = str(value).replace("\0", "")


def _record_of(spec: AttemptSpec) -> Message:
    found = get_task(spec.task)
    if found is None:
        return {"ok": False, "error": unknown_task_message(spec.task)}
    try:
        config = apply_schema(found.schema, spec.config)
    except ValidationFailed as refused:
        return {"ok": False, "error": f"the config does not fit the task: {refused}", "non_retryable": True}
    try:
        return _returned(_call(found, spec, config))
    except SystemExit as stop:
        if stop.code in (None, 0):
            return _returned(None)
        return {"ok": False, "error": f"the task called sys.exit({stop.code!r})."}
    except BaseException as error:
        return {"ok": False, "error": _tell(error), "non_retryable": isinstance(error, NonRetryable)}


def _call(found: Task, spec: AttemptSpec, config: dict[str, object]) -> object:
    return found.function(TaskContext.from_mapping(spec.context, _report_progress), config)


def _returned(value: object) -> Message:
    """A return value that cannot be kept is dropped with a note; it does not undo the success."""
    try:
        return {"ok": True, "result": storable_result(value)}
    except UnstorableResult as reason:
        return {"ok": True, "result": None, "note": f"The return value was not stored: {reason}"}


def _tell(error: BaseException) -> str:
    """The traceback from the task on: the first frames are ours and say nothing about the fault."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, frames))
    except BaseException:
        text = f"{type(error).__name__} (its text cannot be shown)\n"
    return shorten(text, _MAX_TRACEBACK_CHARACTERS)


def _report_progress(done: int, total: int) -> None:
    _write_record({"progress": [done, total]})


def _write_record(record: Message) -> None:
    """To the result pipe; a task that closed it has thrown its answer away and is judged by its exit."""
    left = memoryview(encode(record))
    try:
        while left:
            left = left[os.write(RESULT_FD, left) :]
    except OSError as error:
        os.write(2, f"the result pipe is gone: {error}\n".encode())
        os._exit(1)


def _reset_signals() -> None:
    """As in a fresh Python: SIGPIPE stays ignored, because sockets rely on it."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _keep_only(stdout_fd: int, stderr_fd: int, result_fd: int) -> None:
    """Descriptors 0 to 3 and nothing else. The sources are above 2, so no copy overwrites another source."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (stdout_fd, 1), (stderr_fd, 2)):
        os.dup2(source, target)
    if result_fd != RESULT_FD:
        os.dup2(result_fd, RESULT_FD, inheritable=False)
    os.closerange(RESULT_FD + 1, os.sysconf("SC_OPEN_MAX"))


def _open_standard_streams() -> None:
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8", errors="replace")
    sys.stdout = sys.__stdout__ = _live_text(1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _live_text(2)  # type: ignore[misc]


def _live_text(descriptor: int) -> _LiveText:
    raw = io.FileIO(descriptor, "wb", closefd=False)
    return _LiveText(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", newline="\n")


def _flush_standard_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue


def _close_connections() -> None:
    """Say goodbye to the database when the task has spoken to it; most tasks have not."""
    if not _opened:
        return
    try:
        for connection in connections.all(initialized_only=True):
            connection.close()
    except Exception as error:
        os.write(2, f"closing the database connection: {type(error).__name__}\n".encode())


def main(arguments: Sequence[str]) -> int:
    """Be the child of the launcher without fork: the attempt stands on stdin, the record goes to a given fd.

    It needs the whole environment to load the settings; the task sees the allow-listed part only.
    """
    parser = argparse.ArgumentParser(prog="attempt_child", description="Runs one attempt for its supervisor.")
    parser.add_argument("--result-fd", type=int, required=True)
    parser.add_argument("--parent-pid", type=int, required=True)
    parser.add_argument("--started", type=float, required=True)
    options = parser.parse_args(arguments)
    spec = AttemptSpec.from_json(json.load(sys.stdin))
    _reset_signals()
    guard_process(spec, options.parent_pid, options.started)
    _keep_only(1, 2, options.result_fd)
    django.setup()
    load_tasks()
    drop_site_environment()
    return run_attempt(spec)


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
