"""A job: what is run, when, and under which policies; and every version it ever had.

`next_run_at` is written by the tick, enable, a schedule edit and a zone-data recompute only, under the
job's lock. `last_slot_for` is the watermark of slots accounted for; it only moves forward.
"""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now, Trim

from scheduler_app.models.choices import (
    AlertMode,
    DstPolicy,
    MisfirePolicy,
    OnLostWorker,
    OverlapPolicy,
    RetryBackoff,
    RetryJitter,
    ScheduleType,
)
from scheduler_app.models.constraints import at_least, one_of

DEFINITION_FIELDS = (
    "key",
    "name",
    "description",
    "task",
    "config",
    "schedule_type",
    "schedule",
    "timezone",
    "dst_policy",
    "starts_at",
    "ends_at",
    "anchor_at",
    "overlap_policy",
    "queue_limit",
    "misfire_policy",
    "misfire_grace_seconds",
    "max_attempts",
    "retry_backoff",
    "retry_backoff_seconds",
    "retry_max_delay_seconds",
    "retry_jitter",
    "timeout_seconds",
    "on_lost_worker",
    "alert_mode",
    "retention_count",
    "retention_days",
    "queue",
    "priority",
    "labels",
    "enabled",
)
SCHEDULE_FIELDS = frozenset(
    {"schedule_type", "schedule", "timezone", "dst_policy", "starts_at", "ends_at", "anchor_at"}
)


def _empty_object() -> dict[str, object]:
    return {}


def _empty_list() -> list[str]:
    return []


class Job(models.Model):
    """A stored definition. Deleting sets `deleted_at`; history follows retention and then the row goes."""

    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    key = models.CharField(max_length=200, null=True, blank=True, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    task = models.CharField(max_length=100)
    config = models.JSONField(default=_empty_object)
    schedule_type = models.CharField(max_length=16, choices=ScheduleType.choices)
    schedule = models.JSONField(default=_empty_object)
    timezone = models.CharField(max_length=64, default="UTC")
    dst_policy = models.CharField(max_length=16, choices=DstPolicy.choices, default=DstPolicy.AUTO)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    anchor_at = models.DateTimeField(null=True, blank=True)
    overlap_policy = models.CharField(
        max_length=16, choices=OverlapPolicy.choices, default=OverlapPolicy.SKIP
    )
    queue_limit = models.PositiveIntegerField(default=1000)
    misfire_policy = models.CharField(
        max_length=16, choices=MisfirePolicy.choices, default=MisfirePolicy.COALESCE
    )
    misfire_grace_seconds = models.PositiveIntegerField(default=60)
    max_attempts = models.PositiveIntegerField(default=3)
    retry_backoff = models.CharField(
        max_length=16, choices=RetryBackoff.choices, default=RetryBackoff.EXPONENTIAL
    )
    retry_backoff_seconds = models.PositiveIntegerField(default=30)
    retry_max_delay_seconds = models.PositiveIntegerField(default=3600)
    retry_jitter = models.CharField(max_length=8, choices=RetryJitter.choices, default=RetryJitter.NONE)
    timeout_seconds = models.PositiveIntegerField(default=300)
    on_lost_worker = models.CharField(max_length=8, choices=OnLostWorker.choices, default=OnLostWorker.RETRY)
    alert_mode = models.CharField(max_length=16, choices=AlertMode.choices, default=AlertMode.WEB)
    retention_count = models.PositiveIntegerField(default=1000)
    retention_days = models.PositiveIntegerField(default=30)
    queue = models.CharField(max_length=64, default="default")
    priority = models.IntegerField(default=0)
    labels = models.JSONField(default=_empty_list)
    enabled = models.BooleanField(default=True)
    next_run_at = models.DateTimeField(null=True, blank=True)
    last_slot_for = models.DateTimeField(null=True, blank=True)
    fault = models.TextField(blank=True, default="")
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                Lower(Trim("name")),
                name="job_name_is_unique_among_live_recurring_jobs",
                condition=Q(deleted_at__isnull=True)
                & Q(schedule_type__in=[ScheduleType.INTERVAL.value, ScheduleType.CRON.value]),
            ),
            models.CheckConstraint(condition=~Q(name=""), name="job_name_is_not_empty"),
            one_of("schedule_type", ScheduleType, table="job"),
            one_of("dst_policy", DstPolicy, table="job"),
            one_of("overlap_policy", OverlapPolicy, table="job"),
            one_of("misfire_policy", MisfirePolicy, table="job"),
            one_of("retry_backoff", RetryBackoff, table="job"),
            one_of("retry_jitter", RetryJitter, table="job"),
            one_of("on_lost_worker", OnLostWorker, table="job"),
            one_of("alert_mode", AlertMode, table="job"),
            at_least("max_attempts", 1, table="job"),
            at_least("timeout_seconds", 1, table="job"),
            at_least("queue_limit", 1, table="job"),
            at_least("version", 1, table="job"),
        )
        indexes = (
            models.Index(
                fields=("next_run_at",),
                name="job_due",
                condition=Q(enabled=True) & Q(deleted_at__isnull=True) & Q(fault=""),
            ),
            models.Index(fields=("-id",), name="job_live", condition=Q(deleted_at__isnull=True)),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def is_exclusive(self) -> bool:
        """Whether at most one execution of this job may be held at a time."""
        return self.overlap_policy != OverlapPolicy.ALLOW

    @property
    def is_completed(self) -> bool:
        """A one-time job whose instant has been accounted for."""
        return (
            self.schedule_type == ScheduleType.ONE_TIME
            and self.next_run_at is None
            and self.last_slot_for is not None
        )

    @property
    def state(self) -> str:
        """deleted | disabled | fault | finished | active, the first that applies."""
        if self.deleted_at is not None:
            return "deleted"
        if not self.enabled:
            return "disabled"
        if self.fault:
            return "fault"
        if self.next_run_at is None:
            return "finished"
        return "active"

    def definition(self) -> dict[str, object]:
        """The definition as plain JSON, as a version keeps it; instants as ISO 8601 text."""
        values: dict[str, object] = {}
        for field in DEFINITION_FIELDS:
            value = getattr(self, field)
            values[field] = value.isoformat() if isinstance(value, datetime) else value
        return values


class JobVersion(models.Model):
    """What a change made of a job: definition before and after, who, why, and from which instant on."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="versions", db_index=False)
    version = models.PositiveIntegerField()
    action = models.CharField(max_length=16)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField()
    actor = models.CharField(max_length=200)
    why = models.TextField(blank=True, default="")
    effective_at = models.DateTimeField()

    class Meta:
        ordering = ("job_id", "version")
        constraints = (models.UniqueConstraint(fields=("job", "version"), name="jobversion_is_written_once"),)

    def __str__(self) -> str:
        return f"job {self.job_id} version {self.version}"
