"""What operators look at: alerts, the audit trail, signs of life, pauses, and minute figures."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from scheduler_app.models.choices import AlertStatus, PauseScope, ProcessKind
from scheduler_app.models.constraints import at_least, one_of
from scheduler_app.models.execution import Execution
from scheduler_app.models.job import Job


def _empty_list() -> list[str]:
    return []


def _empty_object() -> dict[str, object]:
    return {}


class Alert(models.Model):
    """A condition somebody should see, folded by key while it is not resolved."""

    id = models.BigAutoField(primary_key=True)
    key = models.CharField(max_length=200)
    kind = models.CharField(max_length=32)
    severity = models.CharField(max_length=16, default="error")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, blank=True, related_name="alerts")
    execution = models.ForeignKey(
        Execution, on_delete=models.SET_NULL, null=True, blank=True, related_name="alerts"
    )
    message = models.TextField()
    status = models.CharField(max_length=16, choices=AlertStatus.choices, default=AlertStatus.OPEN)
    count = models.PositiveIntegerField(default=1)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True, default="")
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("key",),
                name="alert_is_folded_while_unresolved",
                condition=~Q(status=AlertStatus.RESOLVED.value),
            ),
            one_of("status", AlertStatus, table="alert"),
            at_least("count", 1, table="alert"),
        )
        indexes = (
            models.Index(
                fields=("-last_seen_at", "-id"),
                name="alert_unresolved",
                condition=~Q(status=AlertStatus.RESOLVED.value),
            ),
        )

    def __str__(self) -> str:
        return self.message


class Event(models.Model):
    """One line of the audit trail. Append-only; secrets are masked before they get here."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    action = models.CharField(max_length=64)
    object_type = models.CharField(max_length=32)
    object_id = models.BigIntegerField(null=True, blank=True)
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, blank=True, related_name="events")
    summary = models.CharField(max_length=500, blank=True, default="")
    diff = models.JSONField(default=_empty_object)

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("object_type", "object_id", "-id"), name="event_of_object"),
            models.Index(fields=("at",), name="event_by_time"),
        )

    def __str__(self) -> str:
        return f"{self.action} by {self.actor}"


class Heartbeat(models.Model):
    """Sign of life of one process. The incarnation is its identity; names may repeat."""

    incarnation = models.UUIDField(primary_key=True, default=uuid.uuid4)
    kind = models.CharField(max_length=16, choices=ProcessKind.choices)
    name = models.CharField(max_length=200)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=32)
    tzdata_release = models.CharField(max_length=32)
    tasks = models.JSONField(default=_empty_list)
    queues = models.JSONField(default=_empty_list)
    started_at = models.DateTimeField()
    beat_at = models.DateTimeField()
    alive_until = models.DateTimeField()
    slots = models.PositiveIntegerField(default=0)
    running = models.PositiveIntegerField(default=0)
    draining = models.BooleanField(default=False)

    class Meta:
        ordering = ("kind", "name")
        constraints = (one_of("kind", ProcessKind, table="heartbeat"),)
        indexes = (models.Index(fields=("kind", "alive_until"), name="heartbeat_alive"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Pause(models.Model):
    """Claims are held for a scope; slots still materialise."""

    id = models.BigAutoField(primary_key=True)
    scope = models.CharField(max_length=16, choices=PauseScope.choices)
    value = models.CharField(max_length=200, blank=True, default="")
    who = models.CharField(max_length=200)
    why = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("scope", "value"), name="pause_of_a_scope_is_one"),
            one_of("scope", PauseScope, table="pause"),
        )

    def __str__(self) -> str:
        return f"pause of {self.scope} {self.value}".strip()


class MinuteRollup(models.Model):
    """What finished in one minute, over all jobs or for one; charts read this, never the history."""

    id = models.BigAutoField(primary_key=True)
    minute_at = models.DateTimeField()
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, blank=True, db_index=False)
    status = models.CharField(max_length=16)
    count = models.PositiveIntegerField(default=0)
    duration_ms_sum = models.BigIntegerField(default=0)
    lateness_ms = models.JSONField(default=_empty_list)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("minute_at", "job", "status"), name="minuterollup_of_a_job_is_one_row"
            ),
            models.UniqueConstraint(
                fields=("minute_at", "status"),
                name="minuterollup_of_all_jobs_is_one_row",
                condition=Q(job__isnull=True),
            ),
        )
        indexes = (models.Index(fields=("job", "minute_at"), name="minuterollup_of_job"),)

    def __str__(self) -> str:
        return f"{self.status} at {self.minute_at}"
