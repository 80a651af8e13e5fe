"""Finds and kills processes that belong to attempts, also those that left their group or session.

On Linux a subreaper inherits orphans, so whoever is below it is found in /proc; a mark in the environment
finds them again after the subreaper itself died. On other systems the prctl calls are quietly absent and only
the process group is known.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache

MARK_VARIABLE = "SCHEDULER_TASK_POOL"
ON_LINUX = sys.platform.startswith("linux")

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLOCK_MONOTONIC = 1
_SIGEV_SIGNAL = 0
_SCAN_PAUSE_SECONDS = 0.01


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class _SignalEvent(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal_number", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("padding", ctypes.c_char * 64),
    )


def _kernel_calls() -> ctypes.CDLL | None:
    """The C library with its signatures declared. Done once, so that a forked child only calls."""
    if not ON_LINUX:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    if hasattr(libc, "timer_create"):
        libc.timer_create.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        libc.timer_settime.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return libc


_libc = _kernel_calls()


def _prctl(option: int, argument: int) -> bool:
    return _libc is not None and _libc.prctl(option, argument, 0, 0, 0) == 0


def become_subreaper() -> bool:
    """Orphans among the descendants become children of this process. False where there is no such thing."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid: int) -> bool:
    """Be killed when the parent dies; false when there is no such thing or the parent is gone already."""
    return _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() == parent_pid


def kill_me_after(seconds: float) -> bool:
    """Arm a kernel timer that sends this process SIGKILL: no handler or mask of the task can hold it off."""
    libc = _libc
    if libc is None or not hasattr(libc, "timer_create"):
        return False
    event = _SignalEvent(value=None, signal_number=signal.SIGKILL, notify=_SIGEV_SIGNAL)
    timer = ctypes.c_void_p()
    if libc.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) != 0:
        return False
    seconds = max(seconds, 0.001)
    at = _TimerSpec(_Timespec(0, 0), _Timespec(int(seconds), int(seconds % 1 * 1e9)))
    return bool(libc.timer_settime(timer, 0, ctypes.byref(at), None) == 0)


def children_of(pid: int) -> list[int]:
    """Process ids of the direct children, zombies included; empty where the system cannot tell."""
    if not ON_LINUX:
        return []
    if not _kernel_lists_children():
        return [other for other in _all_pids() if _stat_field(other, 1) == str(pid)]
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


def descendants_of(pid: int) -> list[int]:
    """Children, their children and so on, parents before children."""
    found = children_of(pid)
    for child in found:
        found += children_of(child)
    return found


def kill(pid: int) -> None:
    """SIGKILL; a process that is gone or not ours is none of our business."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_group(group: int) -> None:
    """SIGKILL to a process group; one that is gone is fine."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def kill_all(pids: Iterable[int]) -> None:
    """Kill each process and whatever is below it."""
    for pid in pids:
        below = descendants_of(pid)
        kill(pid)
        for other in below:
            kill(other)


def started_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with the pid an identity. None when it is gone."""
    field = _stat_field(pid, 19)
    return int(field) if field else None


def new_mark(serial: int) -> str:
    """A mark for everything started on behalf of this process; it names the owner, so others can judge it."""
    return f"{_namespace()}-{os.getpid()}-{started_ticks(os.getpid()) or 0}-{serial}"


def kill_marked(mark: str, seconds: float = 2.0) -> int:
    """Kill every process that carries this mark until none is found. Returns how many there were."""
    return _kill_until_none(lambda found: found == mark, seconds)


def kill_abandoned(seconds: float = 2.0) -> int:
    """Kill marked processes whose owner is gone: what a killed worker and supervisor left behind."""
    return _kill_until_none(_is_abandoned, seconds)


def _is_abandoned(mark: str) -> bool:
    namespace, _, rest = mark.partition("-")
    parts = rest.split("-")
    if namespace != _namespace() or len(parts) != 3 or not all(part.isdigit() for part in parts):
        return False
    return started_ticks(int(parts[0])) != int(parts[1])


def _kill_until_none(wanted: Callable[[str], bool], seconds: float) -> int:
    """Scan again after each kill, because a process may fork between being seen and being killed."""
    killed: set[int] = set()
    deadline = time.monotonic() + seconds
    while True:
        found = [pid for pid in _all_pids() if pid != os.getpid() and wanted(_mark_of(pid))]
        if not found:
            return len(killed)
        kill_all(found)
        killed.update(found)
        if time.monotonic() >= deadline:
            return len(killed)
        select.select((), (), (), _SCAN_PAUSE_SECONDS)


def _mark_of(pid: int) -> str:
    """The mark in the environment a process was started with; empty for a zombie or a stranger."""
    prefix = f"{MARK_VARIABLE}=".encode()
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        for entry in file.read().split(b"\0"):
            if entry.startswith(prefix):
                return entry[len(prefix) :].decode(errors="replace")
    return ""


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()] if ON_LINUX else []


@cache
def _kernel_lists_children() -> bool:
    return os.path.exists("/proc/thread-self/children")


@cache
def _namespace() -> str:
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    return "0"


def _stat_field(pid: int, position: int) -> str:
    """A field of /proc/<pid>/stat counted after the name, which may itself hold spaces and parentheses."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[position].decode()
    return ""
