"""The key of an occurrence depends on the job's identity and the slot, and on nothing else."""

from __future__ import annotations

import hashlib
import re
import uuid
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from scheduler_app.domain.delivery_key import manual_delivery_key, slot_delivery_key

UID = uuid.UUID("00000000-0000-4000-8000-00000000002a")
SLOT = datetime(2026, 3, 8, 7, 0, tzinfo=UTC)


def test_the_key_is_the_hash_of_the_identity_and_the_slot() -> None:
    text = "00000000-0000-4000-8000-00000000002a/2026-03-08T07:00:00Z"

    assert slot_delivery_key(UID, SLOT) == hashlib.sha256(text.encode()).hexdigest()


def test_the_key_is_the_same_each_time_and_in_each_zone() -> None:
    local = SLOT.astimezone(ZoneInfo("America/New_York"))

    assert slot_delivery_key(UID, SLOT) == slot_delivery_key(UID, local)


def test_another_slot_or_another_job_has_another_key() -> None:
    keys = {
        slot_delivery_key(UID, SLOT),
        slot_delivery_key(UID, SLOT + timedelta(seconds=1)),
        slot_delivery_key(uuid.uuid4(), SLOT),
    }

    assert len(keys) == 3


def test_a_manual_run_gets_a_key_of_its_own_each_time() -> None:
    keys = {manual_delivery_key() for _ in range(100)}

    assert len(keys) == 100
    assert all(re.fullmatch(r"[0-9a-f]{64}", key) for key in keys)
