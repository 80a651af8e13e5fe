"""The only reader of environment variables: every variable, its default, range and meaning stand here once.

`read_environment()` returns one frozen record or raises `BadEnvironment` with the name, the value (never of a
secret) and the accepted form. A secret may also come from a file named by NAME_FILE. Empty counts as unset.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environs import Env, EnvError

from task_scheduler.variables import (
    Network,
    Variable,
    flag,
    folder,
    names,
    networks,
    number,
    text,
    url,
)

YEAR = 365 * 86_400


class BadEnvironment(Exception):
    """A variable has a value the product cannot start with; the message is one line for people."""


POSTGRES_EXAMPLE = "postgres://scheduler:scheduler@localhost:5432/task_scheduler"
POSTGRES_SCHEMES = ("postgres", "postgresql")


@dataclass(frozen=True, slots=True)
class Environment:
    """Every value the product takes from its surroundings; durations are whole seconds."""

    debug: bool = flag(
        "DEBUG", True, "try-out mode; set 0 in production, which then needs SECRET_KEY and ALLOWED_HOSTS"
    )
    secret_key: str = text(
        "SECRET_KEY", "", "signs sessions; needed when DEBUG=0, long and random", secret=True
    )
    allowed_hosts: tuple[str, ...] = names(
        "ALLOWED_HOSTS",
        "host names the pages answer to; empty with DEBUG=1 means this machine only",
        "a comma list of host names, for example scheduler.example.org",
        r"\*|\.?[A-Za-z0-9_.\-]+|\[[0-9A-Fa-f:.]+\]",
    )
    csrf_trusted_origins: tuple[str, ...] = names(
        "CSRF_TRUSTED_ORIGINS",
        "origins whose forms are accepted behind a proxy",
        "a comma list of origins with scheme, for example https://scheduler.example.org",
        r"https?://[^\s/]+",
    )
    secure_cookies: bool = flag(
        "SECURE_COOKIES", False, "cookies over TLS only, HSTS, plain HTTP redirected; set 1 behind TLS"
    )
    database_url: str = url(
        "DATABASE_URL",
        "the PostgreSQL that holds everything; empty means the SQLite file var/scheduler.sqlite3",
        (*POSTGRES_SCHEMES, "sqlite"),
        example=POSTGRES_EXAMPLE,
    )
    database_direct_url: str = url(
        "DATABASE_DIRECT_URL",
        "PostgreSQL without a transaction pooler, for LISTEN; empty means DATABASE_URL",
        POSTGRES_SCHEMES,
        example=POSTGRES_EXAMPLE,
    )
    redis_url: str = url(
        "REDIS_URL",
        "optional page cache; empty means memory of the process",
        ("redis", "rediss", "unix"),
        example="redis://:password@localhost:6379/0",
    )
    webui_auth: bool = flag(
        "WEBUI_AUTH", True, "0 opens all pages without sign-in; demo only, refused when DEBUG=0"
    )
    webui_public_read: bool = flag(
        "WEBUI_PUBLIC_READ", True, "0 closes job pages and the execution list to visitors"
    )
    cli_secret: str = text(
        "SCHEDULER_CLI_SECRET", "", "when set, commands that change something need --cli-secret", secret=True
    )
    api_key: str = text(
        "SCHEDULER_API_KEY",
        "",
        "one bearer key for the HTTP API with every right; empty means none",
        secret=True,
    )
    self_url: str = url(
        "SCHEDULER_SELF_URL",
        "where the task http_health_check_local asks",
        ("http", "https"),
        default="http://127.0.0.1:8000",
        example="http://127.0.0.1:8000",
    )
    task_modules: tuple[str, ...] = names(
        "SCHEDULER_TASK_MODULES",
        "modules with tasks of your own",
        "a comma list of module names, for example acme.tasks,acme.reports",
        r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*",
    )
    egress_allow_networks: tuple[Network, ...] = networks(
        "EGRESS_ALLOW_NETWORKS", "private networks that webhooks may reach; empty means public addresses only"
    )
    login_rate_limit_attempts: int = number(
        "LOGIN_RATE_LIMIT_ATTEMPTS", 10, "failed sign-ins allowed per five minutes", 1, 10_000
    )
    dev_admin_username: str = text(
        "DEV_ADMIN_USERNAME", "admin", "name of the first operator made for a try-out"
    )
    dev_admin_password: str = text(
        "DEV_ADMIN_PASSWORD",
        "",
        "password of that operator; empty means admin with DEBUG=1 and a refusal with DEBUG=0",
        secret=True,
    )
    dev_admin_email: str = text(
        "DEV_ADMIN_EMAIL",
        "admin@example.com",
        "mail address of that operator",
        accepted="a mail address",
        pattern=r"[^@\s]+@[^@\s]+",
    )
    readyz_require_heartbeats: bool = flag(
        "READYZ_REQUIRE_HEARTBEATS", False, "1 makes /readyz need a live scheduler"
    )
    readyz_require_worker_heartbeat: bool = flag(
        "READYZ_REQUIRE_WORKER_HEARTBEAT", False, "1 makes /readyz need a live worker"
    )
    readyz_redis_optional: bool = flag(
        "READYZ_REDIS_OPTIONAL", False, "1 keeps /readyz green when Redis is down"
    )
    artifact_dir: Path = folder(
        "ARTIFACT_DIR", "var/artifacts", "folder of the files that the task write_file_artifact makes"
    )
    launcher: str = text(
        "SCHEDULER_LAUNCHER",
        "",
        "how an attempt gets its process; empty means fork on Linux and spawn elsewhere",
        accepted="fork or spawn",
        pattern=r"|fork|spawn",
    )
    misfire_catch_up_cap: int = number(
        "MISFIRE_CATCH_UP_CAP", 20, "late slots of one job made up per tick", 1, 1_000
    )
    lease_seconds: int = number("LEASE_SECONDS", 60, "shortest lease of a claimed execution", 1, 86_400)
    lease_buffer_seconds: int = number(
        "LEASE_BUFFER_SECONDS", 30, "lease beyond the timeout of the job", 1, 3_600
    )
    heartbeat_seconds: int = number(
        "HEARTBEAT_SECONDS", 5, "time between two signs of life of a process", 1, 3_600
    )
    alive_seconds: int = number(
        "ALIVE_SECONDS",
        45,
        "silence after which a process counts as dead; more than HEARTBEAT_SECONDS",
        2,
        86_400,
    )
    heartbeat_prune_seconds: int = number(
        "HEARTBEAT_PRUNE_SECONDS", 86_400, "age at which dead processes leave the list", 1, YEAR
    )
    drain_seconds: int = number(
        "DRAIN_SECONDS", 30, "time running work gets to finish when a worker is stopped", 0, 86_400
    )
    unknown_task_seconds: int = number(
        "UNKNOWN_TASK_SECONDS", 600, "time until work no worker knows is failed", 1, YEAR
    )
    finished_job_days: int = number(
        "FINISHED_JOB_DAYS", 30, "days a finished one-time job is kept", 1, 36_500
    )
    event_days: int = number("EVENT_DAYS", 365, "days the audit trail is kept", 1, 36_500)


class _Reader(Env):
    """environs over a given mapping instead of the process environment."""

    def __init__(self, source: Mapping[str, str]) -> None:
        super().__init__()
        self.source = source

    def _get_value(self, env_key: str, default: Any) -> Any:
        return self.source.get(env_key, default)


def variables() -> tuple[Variable, ...]:
    """All variables of the product, in the order of the documentation."""
    return tuple(field.metadata["variable"] for field in dataclasses.fields(Environment))


def _raw(variable: Variable, environ: Mapping[str, str]) -> str:
    direct = environ.get(variable.name, "")
    file_name = environ.get(f"{variable.name}_FILE", "") if variable.secret else ""
    if not file_name:
        return direct
    if direct:
        raise BadEnvironment(
            f"{variable.name} and {variable.name}_FILE are both set; accepted: one of the two"
        )
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise BadEnvironment(
            f"{variable.name}_FILE={file_name!r} cannot be read ({reason}); accepted: a readable text file"
        ) from None


def _refusal(variable: Variable, raw: str) -> BadEnvironment:
    shown = "(value not shown)" if variable.secret else repr(raw)
    return BadEnvironment(f"{variable.name}={shown} is refused; accepted: {variable.accepted}")


def read_environment(environ: Mapping[str, str] | None = None) -> Environment:
    """The record of `environ`, else of what `use_only` set, else of the process; raises BadEnvironment."""
    source = environ if environ is not None else (_only if _only is not None else os.environ)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Environment):
        variable: Variable = field.metadata["variable"]
        raw = _raw(variable, source)
        if not raw.strip() and not (variable.secret and raw):
            continue
        try:
            values[field.name] = variable.parse(_Reader({variable.name: raw}), variable.name)
        except (EnvError, ValueError):
            raise _refusal(variable, raw) from None
    record = Environment(**values)
    _check_together(record)
    return record


def _check_together(record: Environment) -> None:
    """Rules that need more than one variable."""
    if record.alive_seconds <= record.heartbeat_seconds:
        raise BadEnvironment(
            f"ALIVE_SECONDS='{record.alive_seconds}' is refused; "
            f"accepted: more than HEARTBEAT_SECONDS ({record.heartbeat_seconds})"
        )
    if record.debug:
        return
    if len(record.secret_key) < 50 or len(set(record.secret_key)) < 5 or record.secret_key.startswith("dev-"):
        raise BadEnvironment(
            "SECRET_KEY=(value not shown) is refused; accepted when DEBUG=0: at least 50 random characters"
        )
    if not record.allowed_hosts or "*" in record.allowed_hosts:
        shown = ",".join(record.allowed_hosts)
        raise BadEnvironment(
            f"ALLOWED_HOSTS={shown!r} is refused; "
            "accepted when DEBUG=0: real host names, for example scheduler.example.org"
        )
    if not record.webui_auth:
        raise BadEnvironment(
            "WEBUI_AUTH='0' is refused; accepted when DEBUG=0: 1, because 0 opens every page to everybody"
        )


_only: Mapping[str, str] | None = None


def use_only(environ: Mapping[str, str]) -> None:
    """From now on read this mapping instead of the process environment (test settings)."""
    global _only
    _only = environ


def test_child_database() -> str:
    """The test database that a process started by a test must use; empty in the test process itself."""
    return os.environ.get("TEST_CHILD_DATABASE", "")
