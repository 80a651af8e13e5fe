"""Alerts: one row a condition while it is open, a log line each time, resolved by people once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from structlog.testing import capture_logs

from scheduler_app.errors import Conflict, NotFound
from scheduler_app.models import Alert, Event
from scheduler_app.services.alerts import NewAlert, raise_alerts, resolve_alert
from tests.factories import NOW, at, make_execution, make_job

pytestmark = pytest.mark.django_db

Capture = Callable[..., Any]


def raised(*alerts: NewAlert, seconds: float = 0) -> None:
    with transaction.atomic():
        raise_alerts(alerts, now=at(seconds))


def alert(key: str = "disk", **values: Any) -> NewAlert:
    return NewAlert(**{"key": key, "kind": "test", "message": f"{key} is full", **values})


def test_a_new_condition_is_an_open_row() -> None:
    job = make_job()
    row = make_execution(job)

    raised(alert(job_id=job.id, execution_id=row.id, severity="warning"))

    found = Alert.objects.get()
    assert (found.key, found.kind, found.severity, found.message) == (
        "disk",
        "test",
        "warning",
        "disk is full",
    )
    assert (found.job_id, found.execution_id, found.status, found.count) == (job.id, row.id, "open", 1)
    assert (found.first_seen_at, found.last_seen_at, found.resolved_at) == (NOW, NOW, None)


def test_the_same_condition_folds_and_shows_its_latest_words() -> None:
    raised(alert())
    raised(alert(message="disk is still full"), seconds=60)

    found = Alert.objects.get()
    assert (found.count, found.message) == (2, "disk is still full")
    assert (found.first_seen_at, found.last_seen_at) == (NOW, at(60))


def test_one_statement_folds_and_counts_many() -> None:
    raised(alert("b"), alert("a"), alert("b"), alert("b"))

    assert list(Alert.objects.order_by("key").values_list("key", "count")) == [("a", 1), ("b", 3)]


def test_an_acknowledged_condition_goes_on_counting() -> None:
    raised(alert())
    Alert.objects.update(status="acknowledged")
    raised(alert(), seconds=5)

    assert (Alert.objects.get().count, Alert.objects.get().status) == (2, "acknowledged")


def test_a_condition_that_comes_back_after_it_was_resolved_is_a_new_row() -> None:
    raised(alert())
    resolve_alert(alert_id=Alert.objects.get().id, actor="admin", now=at(1))
    raised(alert(), seconds=2)

    assert sorted(Alert.objects.values_list("status", "count")) == [("open", 1), ("resolved", 1)]


@pytest.mark.parametrize(("mode", "rows"), [("web", 1), ("log_only", 0)])
def test_each_mode_writes_a_log_line_and_web_a_row_too(
    mode: str, rows: int, django_capture_on_commit_callbacks: Capture
) -> None:
    with capture_logs() as lines, django_capture_on_commit_callbacks(execute=True):
        raised(alert(mode=mode))

    assert Alert.objects.count() == rows
    [line] = [line for line in lines if line["event"] == "alert.raised"]
    assert (line["alert"], line["kind"], line["text"]) == ("ALERT", "test", "disk is full")


def test_nothing_is_logged_of_what_was_rolled_back(django_capture_on_commit_callbacks: Capture) -> None:
    with (
        capture_logs() as lines,
        django_capture_on_commit_callbacks(execute=True),
        pytest.raises(ZeroDivisionError),
        transaction.atomic(),
    ):
        raise_alerts([alert()], now=NOW)
        raise ZeroDivisionError

    assert [line for line in lines if line["event"] == "alert.raised"] == []
    assert not Alert.objects.exists()


def test_no_alerts_write_nothing() -> None:
    raised()

    assert not Alert.objects.exists()


def test_a_person_resolves_an_alert_and_the_trail_says_who() -> None:
    raised(alert())

    resolve_alert(alert_id=Alert.objects.get().id, actor="admin", now=at(9))

    found = Alert.objects.get()
    assert (found.status, found.resolved_by, found.resolved_at) == ("resolved", "admin", at(9))
    event = Event.objects.get(action="alert.resolved")
    assert (event.actor, event.object_type, event.object_id) == ("admin", "alert", found.id)


def test_an_alert_is_resolved_once() -> None:
    raised(alert())
    found = Alert.objects.get()
    resolve_alert(alert_id=found.id, actor="admin", now=NOW)

    with pytest.raises(Conflict, match="resolved already by admin"):
        resolve_alert(alert_id=found.id, actor="other", now=NOW)

    assert Event.objects.filter(action="alert.resolved").count() == 1


def test_an_alert_that_never_was_is_not_found() -> None:
    with pytest.raises(NotFound, match="no alert 424242"):
        resolve_alert(alert_id=424_242, actor="admin")
