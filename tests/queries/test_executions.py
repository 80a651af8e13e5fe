"""Reading executions: newest first, page after page, filtered, with as many queries for 50 rows as for 5."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.errors import NotFound, ValidationFailed
from scheduler_app.models import Execution
from scheduler_app.queries import executions as reads
from scheduler_app.queries.executions import attempts_of, get_execution, list_executions
from scheduler_app.queries.representations import execution_dict
from tests.queries.rows import make_attempt, make_execution, make_job

pytestmark = pytest.mark.django_db


def _ids(page: Any) -> list[int]:
    return [execution.pk for execution in page.items]


def _walk(**arguments: Any) -> list[int]:
    found: list[int] = []
    cursor = None
    for _ in range(100):
        page = list_executions(cursor=cursor, **arguments)
        found += _ids(page)
        cursor = page.next
        if cursor is None:
            return found
    raise AssertionError("the pages do not end")


def test_pages_hold_every_row_once_newest_first() -> None:
    job = make_job()
    made = [make_execution(job).pk for _ in range(7)]

    assert _walk(limit=3) == made[::-1]


def test_a_row_that_arrives_meanwhile_moves_nothing_on_the_next_page() -> None:
    job = make_job()
    made = [make_execution(job).pk for _ in range(4)]
    first = list_executions(limit=2)
    make_execution(job)

    assert _ids(list_executions(limit=2, cursor=first.next)) == made[1::-1]


@pytest.mark.parametrize("status", ["pending", "running", "claimed", "retry_scheduled", "failed", "missed"])
def test_a_status_selects_its_rows_alone(status: str) -> None:
    job = make_job()
    every = {name: make_execution(job, name).pk for name in ("succeeded", "failed", "missed", "pending")}
    every |= {name: make_execution(job, name).pk for name in ("claimed", "running", "retry_scheduled")}

    assert _walk(limit=2, statuses=[status]) == [every[status]]


def test_several_statuses_select_the_rows_of_each() -> None:
    job = make_job()
    made = [make_execution(job, status).pk for status in ("failed", "succeeded", "running", "pending")]

    assert _walk(limit=10, statuses=["failed", "running"]) == [made[2], made[0]]


def test_a_held_back_row_is_among_the_pending_ones() -> None:
    held_back = make_execution(make_job(), "pending", claim_at=None, held_back=True)

    assert _walk(limit=10, statuses=["pending"]) == [held_back.pk]


def test_a_job_and_a_task_select_theirs() -> None:
    job, other = make_job(), make_job(task="always_fail")
    made = [make_execution(each).pk for each in (job, other, job)]

    assert _walk(limit=10, job_id=job.pk) == [made[2], made[0]]
    assert _walk(limit=10, task="always_fail") == [made[1]]
    assert _walk(limit=10, job_id=job.pk, task="always_fail") == []


def test_a_search_through_history_goes_on_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "SCAN_IDS", 3)
    job = make_job()
    failed = make_execution(job, "failed").pk
    for _ in range(8):
        make_execution(job)

    first = list_executions(limit=5, statuses=["failed"])

    assert (first.items, first.next is None) == ([], False)
    assert _walk(limit=5, statuses=["failed"]) == [failed]


def test_a_search_ends_with_the_oldest_row_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "SCAN_IDS", 3)
    job = make_job()
    gone = [make_execution(job) for _ in range(6)]
    make_execution(job)
    Execution.objects.filter(pk__in=[execution.pk for execution in gone]).delete()

    assert list_executions(limit=5, statuses=["failed"]).next is None


def test_an_empty_history_is_one_empty_page() -> None:
    page = list_executions(limit=5, statuses=["failed"])

    assert (page.items, page.next) == ([], None)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 5, "cursor": "nonsense"}, "cursor"),
        ({"limit": 5, "statuses": ["nonsense"]}, "status"),
    ],
)
def test_a_bad_argument_is_refused_by_its_name(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        list_executions(**arguments)

    assert refused.value.errors[0].field == field


@pytest.mark.parametrize("text", ["a\x00b", "\udcff"])
def test_text_no_database_can_hold_matches_nothing(text: str) -> None:
    make_execution(make_job())

    assert list_executions(limit=5, task=text).items == []


def _queries_of_a_page(rows: int) -> int:
    Execution.objects.all().delete()
    statuses = ("succeeded", "running", "pending", "failed")
    for number in range(rows):
        execution = make_execution(make_job(), statuses[number % 4], attempts=1)
        make_attempt(execution)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        page = list_executions(limit=50)
        shown = [execution_dict(execution) for execution in page.items]
    assert len(shown) == rows
    return len(captured)


def test_fifty_rows_cost_as_many_queries_as_five() -> None:
    assert _queries_of_a_page(5) == _queries_of_a_page(50) == 1


def test_no_statement_counts_or_skips_rows() -> None:
    make_execution(make_job())
    with CaptureQueriesContext(connection) as captured:
        for statuses in ((), ("failed",), ("pending",), ("running",)):
            list_executions(limit=5, statuses=statuses)

    assert [query["sql"] for query in captured if "COUNT(" in query["sql"] or "OFFSET" in query["sql"]] == []


@pytest.mark.parametrize("execution_id", [999_999, 2**63, 10**30])
def test_an_unknown_execution_is_not_found_by_its_number(execution_id: int) -> None:
    with pytest.raises(NotFound, match=f"no execution {execution_id}"):
        get_execution(execution_id)


def test_attempts_come_oldest_first() -> None:
    execution = make_execution(make_job())
    make_attempt(execution, 2)
    make_attempt(execution, 1)

    assert [attempt.number for attempt in attempts_of(execution.pk)] == [1, 2]
