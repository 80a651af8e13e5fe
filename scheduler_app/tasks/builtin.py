"""The tasks every installation has: small, harmless, and enough to try each behaviour of the scheduler.

They never take a host, a path or code from an operator: files go to the artifact directory only, and the one
HTTP call goes to the health address of this product itself.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from scheduler_app.clock import database_now
from scheduler_app.conf import conf
from scheduler_app.errors import SchedulerError
from scheduler_app.models import Execution
from scheduler_app.services.retention import prune_history
from scheduler_app.tasks.artifacts import MAX_ARTIFACT_BYTES, write_artifact
from scheduler_app.tasks.context import TaskContext
from scheduler_app.tasks.registry import task
from scheduler_app.tasks.schema import ConfigField

REPORT_ROWS = 10_000
HEALTH_TIMEOUT_SECONDS = 5
MARKER_KEEP_SECONDS = 86_400

Config = dict[str, object]


@task(
    "sleep_for_seconds",
    (ConfigField("seconds", "number", default=1, minimum=0, maximum=86_400, help="How long to sleep."),),
)
def sleep_for_seconds(context: TaskContext, config: Config) -> Config:
    """Sleep for a number of seconds, then succeed."""
    seconds = float(str(config.get("seconds", 1)))
    context.log(f"Sleeping for {seconds:g} s.")
    time.sleep(seconds)
    context.log("Awake again.")
    return {"slept_seconds": seconds}


@task("always_succeed")
def always_succeed(context: TaskContext, config: Config) -> None:
    """Print one line and succeed."""
    slot = f", due {context.scheduled_for:%Y-%m-%dT%H:%M:%SZ}" if context.scheduled_for else ""
    context.log(f"All is well: job {context.job_id}, execution {context.execution_id}{slot}.")
    context.log(f"This is attempt {context.attempt}.")


@task("always_fail")
def always_fail(context: TaskContext, config: Config) -> None:
    """Fail on every attempt, to watch retries, dead letters and alerts."""
    context.log(f"About to fail, attempt {context.attempt}.")
    raise RuntimeError("always_fail fails on purpose, each time it is run.")


@task("fail_once_then_succeed")
def fail_once_then_succeed(context: TaskContext, config: Config) -> None:
    """Fail on the first attempt of an occurrence, succeed on the next.

    The first attempt leaves an empty marker file, named for the delivery key, in the artifact directory.
    Known limit: workers on other hosts do not see the marker unless they share that directory, and two
    workers that run attempts of one delivery key at the same moment may both fail or both succeed.
    """
    folder = conf().artifact_dir / ".fail_once"
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / hashlib.sha256(context.delivery_key.encode()).hexdigest()
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        context.log("The first attempt failed as planned; this one succeeds.")
        _drop_old_markers(marker)
        return
    raise RuntimeError("fail_once_then_succeed fails on purpose on its first attempt; the next one succeeds.")


def _drop_old_markers(marker: Path) -> None:
    """Remove markers a day older than this one, so that they do not pile up."""
    os.utime(marker)
    oldest = marker.stat().st_mtime - MARKER_KEEP_SECONDS
    for other in marker.parent.iterdir():
        if other.stat().st_mtime < oldest:
            other.unlink(missing_ok=True)


@task("generate_report")
def generate_report(context: TaskContext, config: Config) -> Config:
    """Print how the latest executions stand, one line per status."""
    counts = Counter(Execution.objects.order_by("-id").values_list("status", flat=True)[:REPORT_ROWS])
    total = sum(counts.values())
    context.log(f"Report at {database_now():%Y-%m-%dT%H:%M:%SZ} on the latest {total:,} executions")
    for status, count in counts.most_common():
        context.log(f"{status:<16} {count:>7,}  {count / total:6.1%}")
    return dict(counts)


@task("cleanup_old_runs")
def cleanup_old_runs(context: TaskContext, config: Config) -> None:
    """Remove history that is past its retention, as `prune_history` does."""
    context.log(prune_history(now=database_now()).summary)


@task(
    "write_file_artifact",
    (
        ConfigField(
            "filename",
            "string",
            required=True,
            max_length=200,
            help="A plain file name.",
            pattern=r"[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*",
            pattern_rule="a plain file name, without / or \\ or control characters, not beginning with a dot",
        ),
        ConfigField(
            "content", "string", default="", max_length=MAX_ARTIFACT_BYTES, help="Text, stored as UTF-8."
        ),
    ),
)
def write_file_artifact(context: TaskContext, config: Config) -> Config:
    """Write a text file to the artifact directory, replacing one of the same name."""
    content = str(config.get("content", "")).encode()
    path = write_artifact(conf().artifact_dir, str(config["filename"]), content)
    context.log(f"Wrote {len(content):,} bytes to {path}.")
    return {"path": str(path), "bytes": len(content)}


@task("http_health_check_local")
def http_health_check_local(context: TaskContext, config: Config) -> Config:
    """Ask this product's own /healthz (SCHEDULER_SELF_URL); fail unless it answers 200 within 5 seconds."""
    address = urlsplit(conf().self_url)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise SchedulerError(
            f"SCHEDULER_SELF_URL is {conf().self_url!r}; want http://host:port or https://host:port."
        )
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.hostname, address.port, timeout=HEALTH_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz", headers={"Connection": "close"})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise SchedulerError(
            f"{conf().self_url}/healthz does not answer: {error or type(error).__name__}"
        ) from error
    finally:
        connection.close()
    if status != http.client.OK:
        raise SchedulerError(f"{conf().self_url}/healthz answered {status}, not 200.")
    context.log(f"{conf().self_url}/healthz answered 200.")
    return {"status": status}
