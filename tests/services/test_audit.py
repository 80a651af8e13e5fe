"""The trail: lines as they were told, cut to their columns, without secrets."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.models import Event
from scheduler_app.services.audit import AuditLine, definition_diff, record
from tests.factories import NOW, make_job


@pytest.mark.django_db
def test_a_line_is_stored_as_it_was_told() -> None:
    job = make_job()
    Event.objects.all().delete()

    record([AuditLine("admin", "job.test", "job", 7, job.id, "because", {"a": [1, 2]})], now=NOW)

    event = Event.objects.get()
    assert (event.at, event.actor, event.action) == (NOW, "admin", "job.test")
    assert (event.object_type, event.object_id, event.job_id) == ("job", 7, job.id)
    assert (event.summary, event.diff) == ("because", {"a": [1, 2]})


@pytest.mark.django_db
def test_many_lines_cost_one_statement_and_none_cost_none() -> None:
    lines = [AuditLine("admin", "test", "job", number) for number in range(20)]

    with CaptureQueriesContext(connection) as queries:
        record(lines, now=NOW)
        record([], now=NOW)

    assert len([query for query in queries if "INSERT" in query["sql"]]) == 1
    assert Event.objects.count() == 20


@pytest.mark.django_db
def test_long_texts_are_cut_to_their_columns() -> None:
    record([AuditLine("a" * 999, "test", "job", 1, None, "s" * 999)], now=NOW)

    event = Event.objects.get()
    assert (len(event.actor), len(event.summary)) == (200, 500)


def test_a_difference_names_only_what_changed() -> None:
    before = {"name": "a", "priority": 1, "labels": ["x"]}

    assert definition_diff(before, {**before, "priority": 2}) == {"priority": [1, 2]}
    assert definition_diff(before, before) == {}


def test_a_new_definition_differs_in_everything() -> None:
    assert definition_diff(None, {"name": "a", "priority": 0}) == {"name": [None, "a"], "priority": [None, 0]}


def test_what_is_named_like_a_secret_is_masked_at_any_depth() -> None:
    before = {"config": {"url": "u", "signing_secret": "old", "headers": [{"Secret-Token": "t0"}]}}
    after = {"config": {"url": "u", "signing_secret": "new", "headers": [{"Secret-Token": "t1"}]}}

    diff = definition_diff(before, after)

    text = repr(diff)
    assert "'u'" in text
    assert not [word for word in ("old", "new", "t0", "t1") if f"'{word}'" in text]
    assert text.count("(set)") == 4


def test_an_empty_secret_shows_that_it_is_not_set() -> None:
    diff = definition_diff({"config": {"secret": ""}}, {"config": {"secret": "x"}})

    assert diff == {"config": [{"secret": ""}, {"secret": "(set)"}]}
