"""One occurrence of a job and all that hangs on it: lease, attempts, dead letter.

The row is narrow and its indexes name neither status nor finished_at, so that half of the updates of the
hot path stay within their page. `claim_at` is set exactly while the row may be claimed, `held_back` while
it waits for its turn, `claim_token` while somebody holds it; CHECK constraints tie the three to the status.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from scheduler_app.domain.states import HELD, TERMINAL, WAITING
from scheduler_app.models.choices import AttemptOutcome, ExecutionStatus, Lane, Trigger, WorkItemStatus
from scheduler_app.models.constraints import IsWholeSecond, at_least, exactly_when, one_of
from scheduler_app.models.job import Job

_WAITING = sorted(status.value for status in WAITING)
_HELD = sorted(status.value for status in HELD)
_TERMINAL = sorted(status.value for status in TERMINAL)
_SLOT_TRIGGERS = [Trigger.SCHEDULE.value, Trigger.BACKFILL.value]


class Execution(models.Model):
    """The durable row of one slot, manual run, operator retry or backfill."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="executions", db_index=False)
    job_version = models.PositiveIntegerField()
    task = models.CharField(max_length=100)
    lane = models.CharField(max_length=8, choices=Lane.choices, default=Lane.TASK)
    trigger = models.CharField(max_length=16, choices=Trigger.choices)
    scheduled_for = models.DateTimeField()
    available_at = models.DateTimeField()
    claim_at = models.DateTimeField(null=True, blank=True)
    held_back = models.BooleanField(default=False)
    rank_at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=ExecutionStatus.choices)
    reason = models.CharField(max_length=300, blank=True, default="")
    attempts = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField()
    losses = models.PositiveSmallIntegerField(default=0)
    exclusive = models.BooleanField()
    queue = models.CharField(max_length=64, default="default")
    delivery_key = models.CharField(max_length=64)
    claim_token = models.UUIDField(null=True, blank=True)
    retry_of = models.OneToOneField(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="retried_as"
    )
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    terminate_requested_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("job", "scheduled_for", "trigger"),
                name="execution_slot_is_materialised_once",
                condition=Q(trigger__in=_SLOT_TRIGGERS),
            ),
            exactly_when(
                Q(claim_at__isnull=False),
                Q(status__in=_WAITING) & Q(held_back=False),
                name="execution_claim_at_iff_waiting_and_not_held_back",
            ),
            models.CheckConstraint(
                condition=Q(held_back=False) | Q(status__in=_WAITING),
                name="execution_held_back_only_while_waiting",
            ),
            exactly_when(
                Q(claim_token__isnull=False), Q(status__in=_HELD), name="execution_claim_token_iff_held"
            ),
            exactly_when(
                Q(finished_at__isnull=False),
                Q(status__in=_TERMINAL),
                name="execution_finished_at_iff_terminal",
            ),
            models.CheckConstraint(
                condition=~Q(trigger__in=_SLOT_TRIGGERS) | Q(IsWholeSecond("scheduled_for")),
                name="execution_slot_is_a_whole_second",
            ),
            one_of("status", ExecutionStatus, table="execution"),
            one_of("trigger", Trigger, table="execution"),
            one_of("lane", Lane, table="execution"),
            at_least("max_attempts", 1, table="execution"),
        )
        indexes = (
            models.Index(
                fields=("lane", "rank_at", "claim_at", "id"),
                name="execution_claimable",
                condition=Q(claim_at__isnull=False),
            ),
            models.Index(
                fields=("job", "rank_at", "id"),
                name="execution_claimable_of_job",
                condition=Q(claim_at__isnull=False),
            ),
            models.Index(
                fields=("job", "rank_at", "id"), name="execution_held_back", condition=Q(held_back=True)
            ),
            models.Index(fields=("job", "id"), name="execution_history_of_job"),
        )

    def __str__(self) -> str:
        return f"execution {self.pk}"


class Lease(models.Model):
    """The time-limited right of one worker process to run one execution."""

    execution = models.OneToOneField(
        Execution, on_delete=models.CASCADE, primary_key=True, related_name="lease"
    )
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="leases", db_index=True)
    worker = models.UUIDField()
    worker_id = models.CharField(max_length=200)
    fence = models.BigIntegerField()
    acquired_at = models.DateTimeField()
    lease_expires_at = models.DateTimeField()
    exclusive = models.BooleanField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("job",), name="lease_exclusive_job_is_held_once", condition=Q(exclusive=True)
            ),
            models.CheckConstraint(
                condition=Q(lease_expires_at__gt=F("acquired_at")), name="lease_ends_after_it_begins"
            ),
        )

    def __str__(self) -> str:
        return f"lease of execution {self.execution_id}"


class FenceCounter(models.Model):
    """Source of fences on SQLite, which has no sequences; PostgreSQL uses a sequence and no row here."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    value = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"fence {self.value}"


class Attempt(models.Model):
    """One try of an execution, written in the transaction that ends it."""

    id = models.BigAutoField(primary_key=True)
    execution = models.ForeignKey(
        Execution, on_delete=models.CASCADE, related_name="attempt_rows", db_index=False
    )
    number = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16, choices=AttemptOutcome.choices)
    worker = models.UUIDField(null=True, blank=True)
    worker_id = models.CharField(max_length=200, blank=True, default="")
    fence = models.BigIntegerField(null=True, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    output = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="")
    result = models.JSONField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    exchange = models.JSONField(null=True, blank=True)
    cpu_seconds = models.FloatField(null=True, blank=True)
    peak_rss_bytes = models.BigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ("execution_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("execution", "number"), name="attempt_number_is_used_once"),
            one_of("outcome", AttemptOutcome, table="attempt"),
            at_least("number", 1, table="attempt"),
        )

    def __str__(self) -> str:
        return f"attempt {self.number} of execution {self.execution_id}"


class DeadLetter(models.Model):
    """The work item for an execution that used up its attempts."""

    id = models.BigAutoField(primary_key=True)
    execution = models.OneToOneField(Execution, on_delete=models.CASCADE, related_name="dead_letter")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="dead_letters")
    reason = models.CharField(max_length=300, blank=True, default="")
    status = models.CharField(max_length=16, choices=WorkItemStatus.choices, default=WorkItemStatus.OPEN)
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.CharField(max_length=200, blank=True, default="")
    replayed_as = models.OneToOneField(
        Execution, on_delete=models.SET_NULL, null=True, blank=True, related_name="replays"
    )

    class Meta:
        ordering = ("-id",)
        constraints = (one_of("status", WorkItemStatus, table="deadletter"),)
        indexes = (
            models.Index(
                fields=("-id",), name="deadletter_open", condition=Q(status=WorkItemStatus.OPEN.value)
            ),
        )

    def __str__(self) -> str:
        return f"dead letter of execution {self.execution_id}"


class MissedRange(models.Model):
    """Several slots of a job accounted for in one record; `count` is null above 100,000."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="missed_ranges", db_index=False)
    first_slot_for = models.DateTimeField()
    last_slot_for = models.DateTimeField()
    count = models.PositiveIntegerField(null=True, blank=True)
    reason = models.CharField(max_length=32)
    recorded_at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(last_slot_for__gte=F("first_slot_for")), name="missedrange_does_not_run_backwards"
            ),
        )
        indexes = (models.Index(fields=("job", "last_slot_for"), name="missedrange_of_job"),)

    def __str__(self) -> str:
        return f"{self.reason} range of job {self.job_id}"
