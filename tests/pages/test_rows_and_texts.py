"""Lists: the same number of statements for few rows and many, pages by key, and every text escaped."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scheduler_app.models import Alert, Job
from tests.pages.reading import text_of
from tests.queries.rows import NOON, make_attempt, make_execution, make_job

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)></pre></textarea>\"'&"
LISTS = {
    "/dashboard/": 22,
    "/jobs/": 8,
    "/executions/": 8,
    "/jobs/{job}/": 10,
    "/executions/{execution}/": 10,
}


def _count(client: Client, address: str) -> int:
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def _fill(number: int) -> tuple[Job, int]:
    job = make_job()
    for _ in range(number):
        other = make_job()
        make_execution(other, "running")
        execution = make_execution(job, "failed")
        make_attempt(execution)
    Alert.objects.create(
        key=str(job.pk), kind="x", message="boom", job=job, first_seen_at=NOON, last_seen_at=NOON
    )
    return job, execution.pk


@pytest.mark.parametrize("address", LISTS)
def test_statements_do_not_grow_with_the_rows(operator: Client, address: str) -> None:
    job, execution = _fill(5)
    few = _count(operator, address.format(job=job.pk, execution=execution))
    job, execution = _fill(50)
    many = _count(operator, address.format(job=job.pk, execution=execution))

    assert few == many <= LISTS[address]


@pytest.mark.parametrize(("address", "shown"), [("/jobs/", 50), ("/executions/", 50), ("/jobs/{job}/", 30)])
def test_every_row_is_on_exactly_one_page(operator: Client, address: str, shown: int) -> None:
    job = make_job()
    for _ in range(shown + 1 if address != "/jobs/" else shown):
        make_job() if address == "/jobs/" else make_execution(job)
    kind = "job" if address == "/jobs/" else "execution"

    first = text_of(operator.get(address.format(job=job.pk)))
    older = re.search(r'href="([^"]*cursor=[^"]*)" rel="next"', first)
    assert older
    second = text_of(operator.get(older.group(1)))

    ids = [re.findall(rf'<tr id="{kind}-(\d+)"', page) for page in (first, second)]
    assert [len(page) for page in ids] == [shown, 1]
    assert len(set(ids[0] + ids[1])) == shown + 1


def test_the_dashboard_shows_25_jobs_and_the_way_to_all(operator: Client) -> None:
    for _ in range(25):
        make_job()
    assert "The first 25" not in text_of(operator.get("/dashboard/"))
    make_job()

    page = text_of(operator.get("/dashboard/"))

    assert len(re.findall(r'<tr id="job-', page)) == 25 and "The first 25" in page


def test_no_text_of_a_job_or_a_task_becomes_markup(operator: Client) -> None:
    job = make_job(name=EVIL[:200], description=EVIL, labels=[EVIL], config={"x": EVIL}, fault=EVIL)
    execution = make_execution(job, "failed", reason=EVIL)
    make_attempt(execution, outcome="failed", output=EVIL, error=EVIL, worker_id=EVIL, result={"x": EVIL})
    Alert.objects.create(key="k", kind="x", message=EVIL, job=job, first_seen_at=NOON, last_seen_at=NOON)

    for address in (
        "/dashboard/",
        "/jobs/",
        f"/jobs/{job.pk}/",
        f"/jobs/{job.pk}/edit/",
        f"/jobs/{job.pk}/delete/confirm/",
        f"/jobs/new/?from={job.pk}",
        "/executions/",
        f"/executions/?job={job.pk}",
        f"/executions/{execution.pk}/",
        f"/jobs/?q={EVIL}",
        f"/executions/?status={EVIL}",
    ):
        page = text_of(operator.get(address))
        assert "<script>alert" not in page and "<img src=x" not in page, address


def test_the_list_finds_jobs_by_name_state_and_task(operator: Client) -> None:
    make_job(name="Payroll run")
    make_job(name="Backup", enabled=False)
    make_job(name="Report", task="generate_report")

    def names(query: str) -> list[str]:
        return re.findall(r'id="job-link-\d+">([^<]*)</a>', text_of(operator.get(f"/jobs/?{query}")))

    assert names("q=PAY") == ["Payroll run"]
    assert names("state=disabled") == ["Backup"]
    assert names("task=generate_report") == ["Report"]
    assert len(names("")) == 3
    assert "No job matches" in text_of(operator.get("/jobs/?q=nothing"))


def test_tabs_and_statuses_both_filter_executions(operator: Client) -> None:
    job = make_job()
    for status in ("failed", "timed_out", "dead_lettered", "succeeded", "missed"):
        make_execution(job, status)

    def found(query: str) -> int:
        return len(re.findall(r'<tr id="execution-', text_of(operator.get(f"/executions/?{query}"))))

    assert (found(""), found("status=failed"), found("status=timed_out")) == (5, 3, 1)
    assert (found(f"job={job.pk}"), found(f"job={make_job().pk}")) == (5, 0)


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/jobs/?cursor=rubbish", 400),
        ("/jobs/?cursor=%F0%9F%98%80", 400),
        ("/jobs/?state=nonsense", 400),
        ("/jobs/?q=%00", 400),
        ("/jobs/?q=" + "x" * 5_000, 400),
        ("/jobs/?task=nothing", 200),
        ("/jobs/?page=-1", 200),
        ("/executions/?cursor=rubbish", 400),
        ("/executions/?status=nonsense", 400),
        ("/executions/?job=999", 404),
        ("/executions/?job=abc", 404),
        ("/executions/?job=" + "9" * 60, 404),
        ("/executions/?top=abc", 200),
        ("/dashboard/?jobs=1.x.999999999999999999999", 200),
        ("/jobs/999/", 404),
        ("/jobs/" + "9" * 18 + "/", 404),
        ("/jobs/" + "9" * 40 + "/", 404),
        ("/jobs/abc/", 404),
        ("/jobs/1%00/", 400),
        ("/executions/999/", 404),
        ("/executions/999/?attempt=x", 404),
        ("/no/such/page/", 404),
    ],
)
def test_what_no_page_can_mean_is_told_and_never_an_error_of_ours(
    operator: Client, address: str, status: int
) -> None:
    response = operator.get(address)

    assert response.status_code == status
    if status != 200:
        assert "<h1>" in text_of(response) and "Traceback" not in text_of(response)


@pytest.mark.parametrize(
    "broken",
    [
        {"schedule": {"every": "rubbish"}},
        {"schedule": "rubbish"},
        {"schedule": {"every": None}},
        {"schedule_type": "cron", "schedule": {"expression": "garbage"}},
        {"timezone": "Mars/Olympus"},
        {"timezone": "../../etc/passwd"},
        {"config": "nonsense"},
        {"labels": "nonsense"},
        {"next_run_at": datetime(1, 1, 1, tzinfo=UTC)},
        {"next_run_at": datetime(9999, 12, 31, 23, 59, tzinfo=UTC)},
        {"task": "gone_task"},
    ],
)
def test_a_broken_row_is_still_shown_and_can_be_repaired(operator: Client, broken: dict[str, Any]) -> None:
    job = make_job(fault="something is not readable")
    Job.objects.filter(pk=job.pk).update(**broken)
    execution = make_execution(Job.objects.get(), "failed")
    operator.cookies["zone"] = "America%2FLos_Angeles"

    for address in (
        "/dashboard/",
        "/jobs/",
        f"/jobs/{job.pk}/",
        f"/jobs/{job.pk}/edit/",
        f"/jobs/{job.pk}/disable/confirm/",
        f"/jobs/new/?from={job.pk}",
        "/executions/",
        f"/executions/{execution.pk}/",
    ):
        assert operator.get(address).status_code == 200, address
    assert "Held by a fault" in text_of(operator.get(f"/jobs/{job.pk}/"))


def test_an_attempt_can_be_chosen_by_its_number(operator: Client) -> None:
    execution = make_execution(make_job(), "succeeded", attempts=2)
    make_attempt(execution, 1, "failed")
    make_attempt(execution, 2)

    assert "output of attempt 2" in text_of(operator.get(f"/executions/{execution.pk}/"))
    assert "output of attempt 1" in text_of(operator.get(f"/executions/{execution.pk}/?attempt=1"))


def test_times_are_shown_in_the_zone_of_the_viewer_and_of_the_job(operator: Client) -> None:
    job = make_job(
        timezone="Asia/Tokyo", schedule_type="cron", schedule={"expression": "0 9 * * *"}, anchor_at=None
    )
    make_execution(job, slot=NOON)
    operator.cookies["zone"] = "Europe%2FBerlin"

    page = text_of(operator.get(f"/jobs/{job.pk}/"))
    listed = text_of(operator.get("/executions/"))

    assert "Asia/Tokyo" in page and "Europe/Berlin" in page and "09:00:00" in page
    assert "13:00:00" in listed and 'datetime="2026-01-02T12:00:00Z"' in listed


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "%00", "x" * 4_000])
def test_an_unknown_zone_in_the_cookie_is_ignored(operator: Client, zone: str) -> None:
    operator.cookies["zone"] = zone
    operator.cookies["theme"] = "<script>"

    page = text_of(operator.get("/jobs/"))

    assert "Times in UTC" in page and "data-theme" not in page.partition("<body")[0]
