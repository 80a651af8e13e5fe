"""How often signing in may fail within five minutes, for a name and, five times as often, for an address.

The counters are rows, so that every web process of the cluster sees them and no cache is needed. A window
begins with its first failure. Names are stored as hashes; an address may be a proxy shared by many, hence its
higher limit.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from math import ceil

from django.db import transaction

from scheduler_app.conf import conf
from scheduler_app.models import RateBucket

WINDOW = timedelta(minutes=5)
ADDRESS_FACTOR = 5


def login_allowed(*, username: str, address: str, now: datetime) -> int:
    """Seconds to wait before the next attempt of this name or address; 0 when it may be made now."""
    limits = _limits(username, address)
    waits = [
        (bucket.updated_at + WINDOW - now).total_seconds()
        for bucket in RateBucket.objects.filter(key__in=limits)
        if bucket.tokens >= limits[bucket.key]
    ]
    return max(0, *map(ceil, waits), 0)


def note_failure(*, username: str, address: str, now: datetime) -> None:
    """Count one failure against the name and the address. Locks the two counters in order of their keys."""
    with transaction.atomic():
        for key in sorted(_limits(username, address)):
            RateBucket.objects.get_or_create(key=key, defaults={"tokens": 0.0, "updated_at": now})
            bucket = RateBucket.objects.select_for_update().get(key=key)
            if now - bucket.updated_at >= WINDOW:
                bucket.tokens, bucket.updated_at = 0.0, now
            bucket.tokens += 1
            bucket.save(update_fields=["tokens", "updated_at"])


def note_success(*, username: str, address: str, now: datetime) -> None:
    """Forget the failures of the name; those of the address stay, as others may share it."""
    RateBucket.objects.filter(key=_name_key(username)).delete()


def _limits(username: str, address: str) -> dict[str, int]:
    """The counters of an attempt and how many failures each allows in a window."""
    allowed = conf().login_rate_limit_attempts
    return {_name_key(username): allowed, f"login:address:{address[:64]}": allowed * ADDRESS_FACTOR}


def _name_key(username: str) -> str:
    return f"login:name:{hashlib.sha256(username.strip().casefold().encode()).hexdigest()[:32]}"
