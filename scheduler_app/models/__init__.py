"""The data model: fields, constraints and read-only properties; every write lives in services."""

from scheduler_app.models.access import ApiKey, IdempotencyKey, RateBucket
from scheduler_app.models.execution import (
    Attempt,
    DeadLetter,
    Execution,
    FenceCounter,
    Lease,
    MissedRange,
)
from scheduler_app.models.job import Job, JobVersion
from scheduler_app.models.operations import Alert, Event, Heartbeat, MinuteRollup, Pause

__all__ = [
    "Alert",
    "ApiKey",
    "Attempt",
    "DeadLetter",
    "Event",
    "Execution",
    "FenceCounter",
    "Heartbeat",
    "IdempotencyKey",
    "Job",
    "JobVersion",
    "Lease",
    "MinuteRollup",
    "MissedRange",
    "Pause",
    "RateBucket",
]
