"""Signs of life: a process is alive until `alive_until`, and an incarnation that lapsed never comes back.

Renewal is one guarded UPDATE per process. Zero rows mean that others may already have taken its work: the
process must drop what it runs and begin again under a new incarnation.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scheduler_app import __version__
from scheduler_app.conf import conf
from scheduler_app.domain.zones import tzdata_release
from scheduler_app.models import Heartbeat


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a daemon is: the incarnation identifies it, the name is only for people."""

    kind: str
    name: str
    incarnation: uuid.UUID = field(default_factory=uuid.uuid4)
    tasks: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    slots: int = 0


def default_name(kind: str) -> str:
    """`kind@host:pid`, unless the operator gave a name."""
    return f"{kind}@{socket.gethostname()}:{os.getpid()}"


def announce(*, identity: Identity, now: datetime) -> None:
    """Write the first sign of life of an incarnation."""
    Heartbeat.objects.create(
        incarnation=identity.incarnation,
        kind=identity.kind,
        name=identity.name[:200],
        host=socket.gethostname()[:200],
        pid=os.getpid(),
        version=__version__,
        tzdata_release=tzdata_release(),
        tasks=list(identity.tasks),
        queues=list(identity.queues),
        started_at=now,
        beat_at=now,
        alive_until=now + timedelta(seconds=conf().alive_seconds),
        slots=identity.slots,
    )


def renew(*, identity: Identity, now: datetime, running: int = 0, draining: bool = False) -> bool:
    """Stay alive for another window. False when the incarnation lapsed or is gone: its work is lost."""
    changed = Heartbeat.objects.filter(incarnation=identity.incarnation, alive_until__gt=now).update(
        beat_at=now,
        alive_until=now + timedelta(seconds=conf().alive_seconds),
        running=running,
        draining=draining,
    )
    return changed == 1


def retire(*, identity: Identity) -> None:
    """Take back the sign of life of a process that ends with nothing held."""
    Heartbeat.objects.filter(incarnation=identity.incarnation).delete()


def prune_heartbeats(*, now: datetime) -> int:
    """Remove processes that have been silent for HEARTBEAT_PRUNE_SECONDS."""
    limit = now - timedelta(seconds=conf().heartbeat_prune_seconds)
    deleted, _ = Heartbeat.objects.filter(beat_at__lt=limit, alive_until__lt=now).delete()
    return deleted


def live_workers(*, now: datetime) -> Sequence[Heartbeat]:
    """Workers whose alive window is open."""
    return list(Heartbeat.objects.filter(kind="worker", alive_until__gt=now))
