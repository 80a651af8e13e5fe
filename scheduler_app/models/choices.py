"""The closed word lists of the data model, each with the words a person reads."""

from __future__ import annotations

from django.db import models


class ScheduleType(models.TextChoices):
    """How a job says when it is due."""

    ONE_TIME = "one_time", "Once"
    INTERVAL = "interval", "Interval"
    CRON = "cron", "Cron"


class DstPolicy(models.TextChoices):
    """What a clock change does to a cron schedule."""

    AUTO = "auto", "Automatic"
    WALL_CLOCK = "wall_clock", "Each local time once"
    CADENCE = "cadence", "Keep the rhythm"


class OverlapPolicy(models.TextChoices):
    """What happens to a slot whose predecessor is not finished."""

    SKIP = "skip", "Skip"
    QUEUE = "queue", "Queue"
    ALLOW = "allow", "Allow"


class MisfirePolicy(models.TextChoices):
    """What happens to slots found late beyond their grace."""

    COALESCE = "coalesce", "Run the latest once"
    CATCH_UP = "catch_up", "Run all, oldest first"
    SKIP = "skip", "Skip"


class RetryBackoff(models.TextChoices):
    """How the delay before a retry grows."""

    EXPONENTIAL = "exponential", "Exponential"
    CONSTANT = "constant", "Constant"


class RetryJitter(models.TextChoices):
    """Whether the delay before a retry is drawn at random."""

    NONE = "none", "None"
    FULL = "full", "Full"


class OnLostWorker(models.TextChoices):
    """What happens to a running attempt whose worker disappeared."""

    RETRY = "retry", "Retry (at least once)"
    FAIL = "fail", "Fail (at most once)"


class AlertMode(models.TextChoices):
    """Where an alert of the job is shown."""

    WEB = "web", "Dashboard and log"
    LOG_ONLY = "log_only", "Log only"


class ExecutionStatus(models.TextChoices):
    """Display words for the states of `domain.states.Status`."""

    PENDING = "pending", "Queued"
    CLAIMED = "claimed", "Claimed"
    RUNNING = "running", "Running"
    RETRY_SCHEDULED = "retry_scheduled", "Retrying"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    TIMED_OUT = "timed_out", "Timed out"
    MISSED = "missed", "Skipped"
    CANCELLED = "cancelled", "Cancelled"
    DEAD_LETTERED = "dead_lettered", "Dead letter"


class Trigger(models.TextChoices):
    """Why an execution row exists."""

    SCHEDULE = "schedule", "Schedule"
    MANUAL = "manual", "Run now"
    RETRY = "retry", "Operator retry"
    BACKFILL = "backfill", "Backfill"
    API = "api", "API"
    TEST = "test", "Test"


class Lane(models.TextChoices):
    """Which kind of work a row is; lanes are claimed apart."""

    TASK = "task", "Task"
    WEBHOOK = "webhook", "Webhook"


class AttemptOutcome(models.TextChoices):
    """How one attempt ended."""

    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    TIMED_OUT = "timed_out", "Timed out"
    LOST = "lost", "Worker lost"
    RELEASED = "released", "Handed back"
    TERMINATED = "terminated", "Terminated"


class WorkItemStatus(models.TextChoices):
    """State of a dead letter."""

    OPEN = "open", "Open"
    REPLAYED = "replayed", "Replayed"
    DISCARDED = "discarded", "Discarded"


class AlertStatus(models.TextChoices):
    """State of an alert."""

    OPEN = "open", "Open"
    ACKNOWLEDGED = "acknowledged", "Acknowledged"
    RESOLVED = "resolved", "Resolved"


class ProcessKind(models.TextChoices):
    """Which loop a heartbeat belongs to."""

    SCHEDULER = "scheduler", "Scheduler"
    WORKER = "worker", "Worker"


class PauseScope(models.TextChoices):
    """What a pause holds."""

    ALL = "all", "Everything"
    QUEUE = "queue", "Queue"
    JOB = "job", "Job"
    LABEL = "label", "Label"
    ENDPOINT = "endpoint", "Endpoint"
