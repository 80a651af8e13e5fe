"""What programs and repeated requests leave behind: API keys, idempotency records, rate buckets."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from scheduler_app.models.job import Job


def _empty_list() -> list[str]:
    return []


class ApiKey(models.Model):
    """A bearer key, stored as SHA-256; the key itself is shown once, at creation."""

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=16)
    key_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=_empty_list)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_from = models.CharField(max_length=64, blank=True, default="")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("name",),
                name="apikey_name_is_unique_among_live_keys",
                condition=Q(revoked_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return self.name


class IdempotencyKey(models.Model):
    """A request key, written in the transaction of what the request made."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    body_hash = models.CharField(max_length=64)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, blank=True)
    response = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("owner", "key"), name="idempotencykey_is_used_once"),)

    def __str__(self) -> str:
        return self.key


class RateBucket(models.Model):
    """A token bucket or window counter over the whole cluster: sign-in attempts, API keys, endpoints."""

    key = models.CharField(max_length=200, primary_key=True)
    tokens = models.FloatField(default=0)
    updated_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=("updated_at",), name="ratebucket_by_age"),)

    def __str__(self) -> str:
        return self.key
