"""The limits every daemon transaction sets itself, and values that both databases understand."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_app.clock import read_clock
from scheduler_app.models import Job
from scheduler_app.services.transactions import (
    IDLE_SECONDS,
    LOCK_SECONDS,
    STATEMENT_SECONDS,
    daemon_transaction,
    execute,
    fetch_all,
    in_list,
    sql_value,
)
from tests.factories import NOW, make_job

LIMITS = ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout")


def limits() -> dict[str, str]:
    return {name: fetch_all(f"SHOW {name}", [])[0][0] for name in LIMITS}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_the_limits_are_in_force_inside_and_gone_outside() -> None:
    before = limits()

    with daemon_transaction():
        assert limits() == {
            "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
            "lock_timeout": f"{LOCK_SECONDS}s",
            "statement_timeout": f"{STATEMENT_SECONDS}s",
        }

    assert limits() == before


@pytest.mark.django_db(transaction=True)
def test_an_error_inside_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError), daemon_transaction():
        make_job()
        raise ZeroDivisionError

    assert not Job.objects.exists()


@pytest.mark.django_db
def test_a_transaction_hands_out_the_clock_of_the_database() -> None:
    earlier = read_clock()
    with daemon_transaction() as instant:
        pass

    assert instant.now.tzinfo is UTC
    assert earlier.now <= instant.now
    assert earlier.monotonic <= instant.monotonic
    assert abs(instant.now - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_the_clock_goes_on_inside_a_transaction() -> None:
    with daemon_transaction() as instant:
        fetch_all("SELECT pg_sleep(0.01)", [])
        assert read_clock().now > instant.now


@pytest.mark.postgresql
@pytest.mark.django_db
def test_the_clock_is_that_of_the_server_and_costs_one_statement() -> None:
    with CaptureQueriesContext(connection) as queries:
        read_clock()

    assert [query["sql"] for query in queries] == ["SELECT clock_timestamp()"]


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, 3])
def test_is_one_of_finds_the_listed_rows(count: int) -> None:
    ids = [make_job().id for _ in range(4)]
    clause, parameters = in_list(ids[:count])

    found = fetch_all(f"SELECT id FROM scheduler_app_job WHERE id {clause} ORDER BY id", parameters)

    assert [row[0] for row in found] == ids[:count]


@pytest.mark.django_db
def test_a_statement_says_how_many_rows_it_touched() -> None:
    job = make_job()
    clause, parameters = in_list([job.id, 424_242])

    assert execute(f"UPDATE scheduler_app_job SET fault = 'x' WHERE id {clause}", parameters) == 1


@pytest.mark.django_db
def test_values_survive_the_way_through_a_raw_statement() -> None:
    job = make_job()
    execute(
        "UPDATE scheduler_app_job SET next_run_at = %s, config = %s, uid = %s WHERE id = %s",
        [sql_value(NOW), sql_value({"a": [1, "ä"]}), sql_value(uuid.UUID(int=7)), job.id],
    )

    job.refresh_from_db()
    assert (job.next_run_at, job.config, job.uid) == (NOW, {"a": [1, "ä"]}, uuid.UUID(int=7))
    assert sql_value(None) is None
    assert connection.vendor in {"postgresql", "sqlite"}
