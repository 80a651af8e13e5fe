"""`execution`: list, inspect, retry, cancel."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scheduler_app.management.execution_verbs import duration_text
from scheduler_app.models import Execution, Job
from scheduler_app.queries import executions as reads
from scheduler_app.queries.executions import get_execution
from scheduler_app.queries.representations import attempt_dict, execution_dict
from tests.commands.running import run_cli
from tests.queries.rows import NOON, make_attempt, make_execution, make_job

pytestmark = pytest.mark.django_db


def test_a_list_shows_the_newest_rows_of_a_status_and_at_most_the_limit(job: Job) -> None:
    failed = [make_execution(job, "failed").pk for _ in range(4)]
    make_execution(job)

    document = run_cli("execution", "list", "--status", "failed", "--limit", "3", "--format", "json").json

    assert [item["id"] for item in document["items"]] == failed[:0:-1]
    assert document["next"]
    rest = run_cli(
        "execution", "list", "--status", "failed", "--cursor", document["next"], "--format", "json"
    )
    assert [item["id"] for item in rest.json["items"]] == failed[:1]


def test_a_page_is_filled_although_matches_lie_far_apart(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "SCAN_IDS", 2)
    failed = []
    for _ in range(3):
        failed.append(make_execution(job, "failed").pk)
        for _ in range(5):
            make_execution(job)

    document = run_cli("execution", "list", "--status", "failed", "--limit", "2", "--format", "json").json

    assert [item["id"] for item in document["items"]] == failed[:0:-1]


def test_a_list_of_a_job_as_a_table(job: Job) -> None:
    make_execution(make_job())
    execution = make_execution(
        job,
        "failed",
        attempts=1,
        reason="exit code 3",
        started_at=NOON + timedelta(milliseconds=340),
        finished_at=NOON + timedelta(seconds=12),
    )
    make_attempt(execution, 1, "failed")

    lines = run_cli("execution", "list", "--job", str(job.pk)).out.splitlines()

    assert len(lines) == 2
    for piece in (
        str(execution.pk),
        "Nightly",
        "failed",
        "1/3",
        "11.7 s",
        "340 ms",
        "worker-b",
        "exit code 3",
    ):
        assert piece in lines[1]


def test_a_list_without_rows_says_so_beside_the_data(job: Job) -> None:
    assert "no executions" in run_cli("execution", "list").err
    assert run_cli("execution", "list", "--format", "json").json == {"items": [], "next": None}


def test_inspect_shows_status_times_output_and_error_of_every_attempt(job: Job) -> None:
    execution = make_execution(job, "failed", attempts=2, reason="attempts used up")
    make_attempt(execution, 1, "failed", error="Traceback one", exit_code=1)
    make_attempt(execution, 2, "failed", output="line one\nline two\x1b[31m\n", result={"rows": 3})

    text = run_cli("execution", "inspect", str(execution.pk)).out

    for piece in ("failed", "attempts used up", "attempt 1: failed", "exit code 1", "    Traceback one"):
        assert piece in text
    assert "    line one\n    line two\\x1b[31m\n" in text
    assert '{"rows": 3}' in text
    assert text.index("attempt 1") < text.index("attempt 2")


def test_inspect_as_json_is_the_execution_with_its_attempts(job: Job) -> None:
    execution = make_execution(job)
    attempt = make_attempt(execution)

    document = run_cli("execution", "inspect", str(execution.pk), "--format", "json").json

    assert document == {
        **execution_dict(get_execution(execution.pk)),
        "attempt_history": [attempt_dict(attempt)],
    }


def test_a_running_execution_shows_its_worker_and_lease(job: Job) -> None:
    text = run_cli("execution", "inspect", str(make_execution(job, "running").pk)).out

    assert "worker-a" in text and "2026-01-02T12:01:00Z" in text


def test_retry_makes_a_new_row_once(job: Job) -> None:
    failed = make_execution(job, "failed")

    answer = run_cli("execution", "retry", str(failed.pk))

    new = Execution.objects.get(retry_of=failed)
    assert answer.out == f"execution {new.pk} queued, a retry of execution {failed.pk}\n"
    assert (new.trigger, new.delivery_key) == ("retry", failed.delivery_key)
    again = run_cli("execution", "retry", str(failed.pk))
    assert again.code == 1 and str(new.pk) in again.err
    assert Execution.objects.count() == 2


def test_retry_as_was_answers_with_the_old_version(job: Job) -> None:
    failed = make_execution(job, "failed")
    run_cli("job", "edit", str(job.pk), "--max-attempts", "7")

    document = run_cli("execution", "retry", str(failed.pk), "--as-was", "--format", "json").json

    assert (document["job_version"], document["max_attempts"], document["retry_of"]) == (1, 3, failed.pk)


def test_cancel_ends_a_queued_row(job: Job) -> None:
    queued = make_execution(job, "pending")

    answer = run_cli("execution", "cancel", str(queued.pk))

    assert answer.out == f"execution {queued.pk} cancelled\n"
    queued.refresh_from_db()
    assert queued.status == "cancelled"


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(None, None), (0, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (-5, "-5 ms")]
)
def test_durations_are_told_in_the_unit_that_fits(milliseconds: int | None, text: str | None) -> None:
    assert duration_text(milliseconds) == text
