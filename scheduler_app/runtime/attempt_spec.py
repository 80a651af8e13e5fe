"""What the worker asks of the attempt supervisor, and what it gets back.

Both travel as JSON over a socket; instants are readings of time.monotonic(), which all processes of one host
share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

Outcome = Literal["succeeded", "failed", "non_retryable", "timed_out", "terminated", "expired"]

# The child kills itself this long after its timeout, when nobody else has done so.
OWN_DEADLINE_MARGIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class AttemptSpec:
    """One attempt to run.

    `key` is the caller's unique id; `context` holds execution_id, job_id, attempt, scheduled_for (text),
    delivery_key, fence; `timeout_seconds` counts from the start of the child; `deadline_monotonic` is the end
    of the lease.
    """

    key: str
    task: str
    config: Mapping[str, object]
    context: Mapping[str, object]
    timeout_seconds: float
    deadline_monotonic: float

    def to_json(self) -> dict[str, object]:
        """The form that travels. Raises TypeError or ValueError when a number or mapping is none."""
        return {
            "key": self.key,
            "task": self.task,
            "config": dict(self.config),
            "context": dict(self.context),
            "timeout_seconds": float(self.timeout_seconds),
            "deadline_monotonic": float(self.deadline_monotonic),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> AttemptSpec:
        """Rebuild what to_json made."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})  # type: ignore[arg-type]

    def deadline(self, started_monotonic: float) -> float:
        """When the supervisor kills: the timeout, counted from the start, or the end of the lease."""
        return min(started_monotonic + self.timeout_seconds, self.deadline_monotonic)

    def deadline_outcome(self, started_monotonic: float) -> Outcome:
        """What meeting the deadline means."""
        lease_first = self.deadline_monotonic < started_monotonic + self.timeout_seconds
        return "expired" if lease_first else "timed_out"

    def own_deadline(self, started_monotonic: float) -> float:
        """When the child must be dead even if nobody looks after it."""
        return self.deadline(started_monotonic + OWN_DEADLINE_MARGIN_SECONDS)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How an attempt ended.

    outcome: succeeded | failed | non_retryable | timed_out | terminated (killed on request) | expired (the
    lease or the worker's own time ran out, or its supervisor was lost: nobody knows how far the task came).
    `output` is stdout, `error` is stderr and then the reason of a failure with its traceback: a succeeded
    attempt that wrote to stderr has an `error` text too. Both are clean and at most 20,000 characters.
    `result` is the returned JSON value, None when nothing storable was returned. `exit_code` is None when a
    signal, named in `signal`, ended the process. CPU seconds include waited-for children; RSS is in bytes.
    """

    key: str
    outcome: Outcome
    output: str = ""
    error: str = ""
    result: object = None
    exit_code: int | None = None
    signal: str | None = None
    cpu_seconds: float | None = None
    peak_rss_bytes: int | None = None
    started_monotonic: float | None = None
    ended_monotonic: float | None = None
    progress: tuple[int, int] | None = None

    def to_json(self) -> dict[str, object]:
        """The form that travels; spelt out, because asdict() would copy the whole result value."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> AttemptResult:
        """Rebuild what to_json made."""
        known = {field.name: values[field.name] for field in fields(cls)}
        if known["progress"] is not None:
            known["progress"] = tuple(known["progress"])  # type: ignore[arg-type]
        return cls(**known)  # type: ignore[arg-type]
