"""What an operator does to jobs and executions from the pages, with script and without."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from django.test import Client

from scheduler_app.models import Alert, Event, Execution, Job
from tests.pages.reading import act, ask, text_of
from tests.queries.rows import NOON, make_execution, make_job


@pytest.fixture
def job(db: None) -> Job:
    return make_job(name="Payroll")


def test_run_now_queues_one_execution(operator: Client, job: Job) -> None:
    response = operator.post(f"/jobs/{job.pk}/trigger/")

    execution = Execution.objects.get()
    assert response.status_code == 303 and response["Location"] == f"/jobs/{job.pk}/"
    assert (execution.trigger, execution.status) == ("manual", "pending")
    assert f"execution {execution.pk}" in text_of(operator.get(f"/jobs/{job.pk}/"))


def test_run_now_from_a_row_answers_with_the_row_and_a_toast(operator: Client, job: Job) -> None:
    answer = text_of(act(operator, f"/jobs/{job.pk}/trigger/", target=f"job-{job.pk}"))

    assert f'<tr id="job-{job.pk}"' in answer and "<html" not in answer
    assert 'hx-swap-oob="beforeend:#toasts"' in answer and "Queued one run" in answer


def test_run_now_on_the_page_of_a_job_answers_with_its_region(operator: Client, job: Job) -> None:
    answer = text_of(act(operator, f"/jobs/{job.pk}/trigger/"))

    assert answer.count('id="live"') == 1 and f'hx-get="/jobs/{job.pk}/?have=' in answer


def test_a_disabled_job_is_not_run(operator: Client, job: Job) -> None:
    Job.objects.update(enabled=False)

    plain = operator.post(f"/jobs/{job.pk}/trigger/")
    by_htmx = act(operator, f"/jobs/{job.pk}/trigger/")

    assert plain.status_code == 303 and by_htmx.status_code == 409
    assert "is disabled" in unquote(by_htmx["X-Message"])
    assert "is disabled" in text_of(operator.get(f"/jobs/{job.pk}/"))
    assert not Execution.objects.exists()


def test_disabling_without_queued_rows_happens_at_once_and_offers_undo(operator: Client, job: Job) -> None:
    answer = text_of(act(operator, f"/jobs/{job.pk}/disable/", target=f"job-{job.pk}", ask="1"))

    assert not Job.objects.get().enabled
    assert f'formaction="/jobs/{job.pk}/enable/"' in answer and "Undo" in answer
    operator.post(f"/jobs/{job.pk}/enable/")
    assert Job.objects.get().enabled


def test_disabling_with_queued_rows_asks_with_their_number(operator: Client, job: Job) -> None:
    for status in ("pending", "pending", "retry_scheduled", "claimed", "running", "succeeded"):
        make_execution(job, status)

    by_htmx = act(operator, f"/jobs/{job.pk}/disable/", ask="1")
    plain = operator.post(f"/jobs/{job.pk}/disable/", {"ask": "1"})

    assert Job.objects.get().enabled
    assert by_htmx["HX-Retarget"] == "#dlg" and "4 queued executions" in text_of(by_htmx)
    assert plain.status_code == 303 and plain["Location"] == f"/jobs/{job.pk}/disable/confirm/"
    assert "4 queued executions" in text_of(operator.get(plain["Location"]))


def test_the_answer_to_the_question_cancels_what_it_named(operator: Client, job: Job) -> None:
    make_execution(job, "pending")

    response = operator.post(f"/jobs/{job.pk}/disable/", {"expected": "1"})

    assert response.status_code == 303
    assert not Job.objects.get().enabled
    assert Execution.objects.get().status == "cancelled"
    page = text_of(operator.get(f"/jobs/{job.pk}/"))
    assert "1 queued row is cancelled" in page and "Undo" not in page


def test_it_is_asked_again_when_more_rows_wait_by_now(operator: Client, job: Job) -> None:
    make_execution(job, "pending")
    make_execution(job, "pending")

    response = operator.post(f"/jobs/{job.pk}/disable/", {"expected": "1"})

    assert response["Location"].endswith("/disable/confirm/") and Job.objects.get().enabled


def test_disable_keeps_the_next_run_and_enable_goes_on(operator: Client, job: Job) -> None:
    operator.post(f"/jobs/{job.pk}/disable/")
    assert Job.objects.get().next_run_at == job.next_run_at

    operator.post(f"/jobs/{job.pk}/enable/")
    assert Job.objects.get().next_run_at is not None
    assert {event.actor for event in Event.objects.all()} == {"ada"}


def test_delete_asks_and_then_leads_to_the_list(operator: Client, job: Job) -> None:
    make_execution(job, "pending")
    question = text_of(ask(operator, f"/jobs/{job.pk}/delete/confirm/", target="dlg"))
    assert "cannot be undone" in question and "1 queued execution<" in question and "<html" not in question

    response = operator.post(f"/jobs/{job.pk}/delete/")

    assert response["Location"] == "/jobs/" and Job.objects.get().deleted_at is not None
    assert operator.get(f"/jobs/{job.pk}/").status_code == 200
    assert operator.get(f"/jobs/{job.pk}/edit/").status_code == 404
    assert operator.post(f"/jobs/{job.pk}/trigger/").status_code == 404


def test_a_failed_execution_is_retried_as_a_new_row(operator: Client, job: Job) -> None:
    failed = make_execution(job, "failed")

    response = operator.post(f"/executions/{failed.pk}/retry/")

    new = Execution.objects.get(retry_of=failed)
    assert response["Location"] == f"/executions/{new.pk}/"
    assert operator.post(f"/executions/{failed.pk}/retry/").status_code == 303
    assert Execution.objects.filter(retry_of=failed).count() == 1


def test_what_may_not_be_done_is_refused_with_its_reason(operator: Client, job: Job) -> None:
    running = make_execution(job, "running")

    cancel = act(operator, f"/executions/{running.pk}/cancel/")
    retry = act(operator, f"/executions/{running.pk}/retry/")

    assert (cancel.status_code, retry.status_code) == (409, 409)
    assert "cannot be cancelled" in unquote(cancel["X-Message"])
    page = text_of(operator.get(f"/executions/{running.pk}/"))
    assert "/cancel/" not in page and "/retry/" not in page


def test_a_queued_execution_is_cancelled(operator: Client, job: Job) -> None:
    queued = make_execution(job, "pending")

    answer = text_of(act(operator, f"/executions/{queued.pk}/cancel/"))

    assert Execution.objects.get().status == "cancelled"
    assert "Cancelled: cancelled by ada" in answer and 'data-live="0"' in answer


def test_an_alert_is_resolved_once(operator: Client, job: Job) -> None:
    alert = Alert.objects.create(key="k", kind="x", message="boom", first_seen_at=NOON, last_seen_at=NOON)

    assert operator.post(f"/alerts/{alert.pk}/resolve/")["Location"] == "/dashboard/"
    assert operator.post(f"/alerts/{alert.pk}/resolve/").status_code == 303
    assert operator.post("/alerts/999/resolve/").status_code == 404
    alert.refresh_from_db()
    assert (alert.status, alert.resolved_by) == ("resolved", "ada")


@pytest.mark.parametrize(
    "address",
    [
        "/jobs/999/trigger/",
        "/jobs/999/enable/",
        "/jobs/999/disable/",
        "/jobs/999/delete/",
        "/executions/999/retry/",
        "/executions/999/cancel/",
    ],
)
def test_an_action_on_nothing_is_a_404(operator: Client, address: str) -> None:
    assert operator.post(address).status_code == 404
