"""What the code below the doors may know of the settings: one frozen, typed record.

The environment is read in one place outside this package; here only names, types and units are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True, slots=True)
class SchedulerConf:
    """Numbers and switches of the running process. Durations are whole seconds unless the name says days."""

    misfire_catch_up_cap: int = 20
    lease_seconds: int = 60
    lease_buffer_seconds: int = 30
    heartbeat_seconds: int = 5
    alive_seconds: int = 45
    heartbeat_prune_seconds: int = 86400
    drain_seconds: int = 30
    login_rate_limit_attempts: int = 10
    unknown_task_seconds: int = 600
    finished_job_days: int = 30
    event_days: int = 365
    webui_auth: bool = True
    webui_public_read: bool = True
    cli_secret: str = ""
    api_key: str = ""
    self_url: str = "http://127.0.0.1:8000"
    task_modules: tuple[str, ...] = ()
    egress_allow_networks: tuple[str, ...] = ()
    readyz_require_heartbeats: bool = False
    readyz_require_worker_heartbeat: bool = False
    readyz_redis_optional: bool = False
    artifact_dir: Path = Path("var/artifacts")
    launcher: str = ""
    database_direct_url: str = ""
    redis_url: str = ""


def conf() -> SchedulerConf:
    """The record of the running process."""
    record = settings.SCHEDULER
    assert isinstance(record, SchedulerConf)
    return record
