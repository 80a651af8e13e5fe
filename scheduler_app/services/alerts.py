"""Conditions somebody should see: raised with the change that caused them, folded by key, resolved by people.

`alert_mode` web writes a row and a log line, log_only the line alone. Rows of one statement are sorted by
key, because unsorted folding deadlocks. A log sink that fails changes no execution.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.db import transaction

from scheduler_app import events
from scheduler_app.clock import database_now
from scheduler_app.errors import Conflict, NotFound
from scheduler_app.models import Alert
from scheduler_app.models.choices import AlertMode, AlertStatus
from scheduler_app.services.audit import AuditLine, record
from scheduler_app.services.transactions import fetch_all, sql_value


@dataclass(frozen=True, slots=True)
class NewAlert:
    """One occurrence of a condition; equal keys fold into one row while unresolved."""

    key: str
    kind: str
    message: str
    severity: str = "error"
    job_id: int | None = None
    execution_id: int | None = None
    mode: str = AlertMode.WEB.value


_FOLD = """
INSERT INTO scheduler_app_alert (key, kind, severity, job_id, execution_id, message, status, count,
  first_seen_at, last_seen_at, acknowledged_by, resolved_by)
VALUES {values}
ON CONFLICT (key) WHERE NOT (status = 'resolved') DO UPDATE SET
  count = scheduler_app_alert.count + excluded.count, last_seen_at = excluded.last_seen_at,
  message = excluded.message, execution_id = excluded.execution_id
"""


def raise_alerts(alerts: Sequence[NewAlert], *, now: datetime) -> None:
    """Write the rows in the caller's transaction and log each alert after the commit."""
    if not alerts:
        return
    folded: OrderedDict[str, tuple[NewAlert, int]] = OrderedDict()
    for alert in alerts:
        if alert.mode == AlertMode.WEB:
            _, count = folded.get(alert.key, (alert, 0))
            folded[alert.key] = (alert, count + 1)
        transaction.on_commit(partial(_log, alert), robust=True)
    if not folded:
        return
    at = sql_value(now)
    parameters: list[object] = []
    for key in sorted(folded):
        alert, count = folded[key]
        parameters += [key, alert.kind, alert.severity, alert.job_id, alert.execution_id, alert.message]
        parameters += [AlertStatus.OPEN.value, count, at, at, "", ""]
    row = f"({', '.join(['%s'] * 12)})"
    fetch_all(_FOLD.format(values=", ".join([row] * len(folded))) + " RETURNING id", parameters)


def _log(alert: NewAlert) -> None:
    events.emit(
        "alert.raised",
        alert="ALERT",
        kind=alert.kind,
        severity=alert.severity,
        job_id=alert.job_id,
        execution_id=alert.execution_id,
        text=alert.message,
    )


def resolve_alert(*, alert_id: int, actor: str, now: datetime | None = None) -> Alert:
    """Mark an alert resolved. Raises NotFound for an unknown id, Conflict when it is resolved already."""
    with transaction.atomic():
        alert = Alert.objects.select_for_update().filter(id=alert_id).first()
        if alert is None:
            raise NotFound(f"no alert {alert_id}")
        if alert.status == AlertStatus.RESOLVED:
            raise Conflict(f"alert {alert_id} was resolved already by {alert.resolved_by}")
        at = now or database_now()
        alert.status = AlertStatus.RESOLVED
        alert.resolved_at = at
        alert.resolved_by = actor
        alert.save(update_fields=["status", "resolved_at", "resolved_by"])
        record([AuditLine(actor, "alert.resolved", "alert", alert.id, alert.job_id, alert.message)], now=at)
    return alert
