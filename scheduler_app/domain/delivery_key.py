"""The key every attempt of one occurrence carries to the outside.

It depends on the job's random identity and the slot alone, so it is the same after a failover or a restore,
and a receiver can recognise a repeat.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime


def slot_delivery_key(uid: uuid.UUID, slot: datetime) -> str:
    """64 hex characters for the slot (aware instant, whole second) of the job `uid`."""
    text = f"{uid}/{slot.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%SZ')}"
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def manual_delivery_key() -> str:
    """64 hex characters at random: a manual run is no slot."""
    return uuid.uuid4().hex + uuid.uuid4().hex
