"""Live regions: one per page, named by a token, 204 while nothing changed, private to their reader."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scheduler_app.models import Alert, Job
from tests.pages.reading import ask, live_address, text_of
from tests.queries.rows import NOON, make_attempt, make_execution, make_job

QUIET = re.compile(r'<div id="live" data-live="0"\s*>')
LIVE_PAGES = ("/dashboard/", "/jobs/", "/jobs/{job}/", "/executions/", "/executions/{execution}/")


@pytest.fixture
def rows(db: None) -> dict[str, int]:
    job = make_job(name="Payroll")
    return {"job": job.pk, "execution": make_execution(job, "pending").pk}


@pytest.mark.parametrize("address", LIVE_PAGES)
def test_a_live_page_has_one_region_with_the_whole_pattern(
    operator: Client, rows: dict[str, int], address: str
) -> None:
    page = text_of(operator.get(address.format(**rows)))

    regions = re.findall(r'<div id="live"[^>]*>', page)
    assert len(regions) == 1
    [region] = regions
    assert 'hx-trigger="live:tick from:body"' in region and 'hx-swap="morph:outerHTML"' in region
    assert 'hx-target="this"' in region and 'hx-sync="this:drop"' in region
    assert re.search(r"have=[0-9a-f]{16}$", live_address(page))
    assert 'hx-ext="morph"' in page and re.search(r'<body[^>]*data-live="[1-5]"', page)


@pytest.mark.parametrize("address", LIVE_PAGES)
def test_the_token_of_the_page_is_answered_with_204(
    operator: Client, rows: dict[str, int], address: str
) -> None:
    page = text_of(operator.get(address.format(**rows)))

    response = ask(operator, live_address(page))

    assert response.status_code == 204 and response.content == b""


@pytest.mark.parametrize("address", LIVE_PAGES)
def test_a_change_is_answered_with_the_region_alone(
    operator: Client, rows: dict[str, int], address: str
) -> None:
    page = text_of(operator.get(address.format(**rows)))
    Job.objects.update(name="Renamed")
    cache.clear()

    response = ask(operator, live_address(page))
    fragment = text_of(response)

    assert response.status_code == 200
    assert "Renamed" in fragment and "<html" not in fragment and fragment.count('id="live"') == 1
    assert live_address(fragment) != live_address(page)
    assert ask(operator, live_address(fragment)).status_code == 204


def test_page_and_fragment_show_the_same(operator: Client, rows: dict[str, int]) -> None:
    page = text_of(operator.get("/jobs/"))
    fragment = text_of(ask(operator, "/jobs/"))
    region = fragment.partition('<span class="badge"')[0].strip()

    assert region in page


@pytest.mark.parametrize("address", (*LIVE_PAGES, "/", "/jobs/new/", "/jobs/999/"))
def test_every_page_is_private_and_varies(operator: Client, rows: dict[str, int], address: str) -> None:
    response = operator.get(address.format(**rows))

    assert response["Cache-Control"] == "private, no-store"
    assert {"HX-Request", "Cookie"} <= {word.strip() for word in response["Vary"].split(",")}
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert response["X-Request-Id"]


def test_a_page_restored_from_the_history_is_a_whole_page(operator: Client, rows: dict[str, int]) -> None:
    response = ask(operator, "/jobs/", **{"HX-History-Restore-Request": "true"})

    assert "<html" in text_of(response)


def test_a_finished_execution_asks_no_more(operator: Client, rows: dict[str, int]) -> None:
    execution = make_execution(Job.objects.get(), "succeeded")
    make_attempt(execution)

    page = text_of(operator.get(f"/executions/{execution.pk}/"))

    assert QUIET.search(page) and 'data-live="0">' in page.partition("<main")[0]


def test_an_execution_that_went_away_says_so_once(operator: Client, rows: dict[str, int]) -> None:
    response = ask(operator, "/executions/999999/")

    assert response.status_code == 200
    assert "removed by retention" in text_of(response) and "hx-get" not in text_of(response)


def test_older_pages_are_not_live(operator: Client, rows: dict[str, int]) -> None:
    job = Job.objects.get()
    for _ in range(51):
        make_execution(job)

    first = text_of(operator.get("/executions/"))
    older = re.search(r'href="([^"]*cursor=[^"]*)"', first)
    assert older
    second = text_of(operator.get(older.group(1)))

    assert QUIET.search(second) and "not live" in second


def test_rows_on_screen_stay_and_new_ones_are_announced(operator: Client, rows: dict[str, int]) -> None:
    page = text_of(operator.get("/executions/"))
    fresh = make_execution(Job.objects.get())

    fragment = text_of(ask(operator, live_address(page)))

    assert "1 new: show it" in fragment
    assert f'id="execution-{fresh.pk}"' not in fragment
    assert f'id="execution-{rows["execution"]}"' in fragment


def test_job_rows_of_the_dashboard_keep_their_order(operator: Client, rows: dict[str, int]) -> None:
    second = make_job(name="Second", next_run_at=NOON)
    page = text_of(operator.get("/dashboard/"))
    order = re.findall(r'<tr id="job-(\d+)"', page)
    Job.objects.filter(pk=rows["job"]).update(next_run_at=NOON.replace(year=2020))
    cache.clear()

    fragment = text_of(ask(operator, live_address(page)))

    assert order == [str(second.pk), str(rows["job"])]
    assert re.findall(r'<tr id="job-(\d+)"', fragment) == order


def test_the_badge_of_open_alerts_comes_with_the_region(operator: Client, rows: dict[str, int]) -> None:
    page = text_of(operator.get("/jobs/"))
    Alert.objects.create(key="k", kind="x", message="boom", first_seen_at=NOON, last_seen_at=NOON)
    cache.clear()

    fragment = text_of(ask(operator, live_address(page)))

    assert re.search(r'id="badge-alerts"[^>]*hx-swap-oob="true"[^>]*>1<', fragment)


def test_many_watchers_of_one_view_share_a_rendering(operator: Client, rows: dict[str, int]) -> None:
    address = live_address(text_of(operator.get("/jobs/")))
    ask(operator, address)

    with CaptureQueriesContext(connection) as queries:
        assert ask(operator, address).status_code == 204

    own = [
        query["sql"] for query in queries if "session" not in query["sql"] and "auth_user" not in query["sql"]
    ]
    assert own == []


def test_what_a_reader_gets_is_never_what_an_operator_saw(
    operator: Client, reader: Client, rows: dict[str, int]
) -> None:
    assert "formaction" in text_of(ask(operator, "/jobs/?have=x"))
    assert "formaction" not in text_of(ask(reader, "/jobs/?have=x"))
