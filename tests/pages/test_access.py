"""Who may open what: the public pages, the pages of operators, and the switches that move the border."""

from __future__ import annotations

import pytest
from django.test import Client

from scheduler_app.models import Execution, Job
from tests.pages.conftest import Configure
from tests.pages.reading import act, ask, text_of
from tests.queries.rows import make_attempt, make_execution, make_job

PUBLIC = ("/", "/jobs/", "/jobs/{job}/", "/executions/", "/login/")
FOR_OPERATORS = (
    "/dashboard/",
    "/jobs/new/",
    "/jobs/preview/",
    "/jobs/task-fields/",
    "/jobs/{job}/edit/",
    "/jobs/{job}/disable/confirm/",
    "/jobs/{job}/delete/confirm/",
    "/executions/{execution}/",
)
ACTIONS = (
    "/jobs/{job}/trigger/",
    "/jobs/{job}/enable/",
    "/jobs/{job}/disable/",
    "/jobs/{job}/delete/",
    "/executions/{execution}/retry/",
    "/executions/{execution}/cancel/",
    "/alerts/1/resolve/",
)
FORMS = ("/jobs/new/", "/jobs/{job}/edit/")


@pytest.fixture
def rows(db: None) -> dict[str, int]:
    """A job with one execution that failed."""
    job = make_job(name="Payroll", config={"token": "hidden-config"})
    execution = make_execution(job, "failed", reason="hidden-reason")
    make_attempt(execution, outcome="failed", output="hidden-output", error="hidden-error")
    return {"job": job.pk, "execution": execution.pk}


@pytest.mark.parametrize("address", PUBLIC)
def test_public_pages_need_no_sign_in_and_show_nothing_private(
    reader: Client, rows: dict[str, int], address: str
) -> None:
    response = reader.get(address.format(**rows))

    assert response.status_code == 200
    assert "hidden-" not in text_of(response)


@pytest.mark.parametrize("address", FOR_OPERATORS)
def test_pages_of_operators_lead_to_sign_in_and_back(
    reader: Client, rows: dict[str, int], address: str
) -> None:
    wanted = address.format(**rows)

    response = reader.get(wanted)

    assert response.status_code == 302
    assert response["Location"] == f"/login/?next={wanted.replace('/', '%2F')}"


@pytest.mark.parametrize("address", FOR_OPERATORS)
def test_fragments_without_a_session_get_401_and_the_event(
    reader: Client, rows: dict[str, int], address: str
) -> None:
    response = ask(reader, address.format(**rows))

    assert response.status_code == 401
    assert "app:signed-out" in response["HX-Trigger"]
    assert response.content == b""


@pytest.mark.parametrize("address", (*ACTIONS, *FORMS))
def test_nobody_acts_without_sign_in(reader: Client, rows: dict[str, int], address: str) -> None:
    before = (list(Job.objects.values()), list(Execution.objects.values()))

    plain = reader.post(address.format(**rows))
    by_htmx = act(reader, address.format(**rows))

    assert plain.status_code == 302 and plain["Location"].startswith("/login/?next=")
    assert by_htmx.status_code == 401
    assert (list(Job.objects.values()), list(Execution.objects.values())) == before


@pytest.mark.parametrize("address", (*ACTIONS, "/logout/"))
def test_reading_an_address_that_changes_something_is_refused(
    operator: Client, rows: dict[str, int], address: str
) -> None:
    assert operator.get(address.format(**rows)).status_code == 405


@pytest.mark.parametrize("address", (*PUBLIC[:4], *FOR_OPERATORS))
def test_an_operator_opens_every_page(operator: Client, rows: dict[str, int], address: str) -> None:
    assert operator.get(address.format(**rows)).status_code == 200


def test_an_operator_sees_output_and_error(operator: Client, rows: dict[str, int]) -> None:
    page = text_of(operator.get(f"/executions/{rows['execution']}/"))

    assert "hidden-output" in page and "hidden-error" in page


def test_a_closed_history_still_shows_the_job_list(
    reader: Client, rows: dict[str, int], configure: Configure
) -> None:
    configure(webui_public_read=False)

    assert reader.get("/jobs/").status_code == 200
    assert reader.get(f"/jobs/{rows['job']}/").status_code == 302
    assert reader.get("/executions/").status_code == 302
    assert ask(reader, "/executions/").status_code == 401


def test_a_closed_history_is_open_to_operators(
    operator: Client, rows: dict[str, int], configure: Configure
) -> None:
    configure(webui_public_read=False)

    assert operator.get("/executions/").status_code == 200
    assert operator.get(f"/jobs/{rows['job']}/").status_code == 200


def test_without_authentication_everybody_operates(
    reader: Client, rows: dict[str, int], configure: Configure
) -> None:
    configure(webui_auth=False)

    assert reader.get("/dashboard/").status_code == 200
    assert reader.post(f"/jobs/{rows['job']}/disable/").status_code == 303
    assert not Job.objects.get(pk=rows["job"]).enabled


def test_a_reader_sees_no_control(reader: Client, rows: dict[str, int]) -> None:
    for address in ("/jobs/", f"/jobs/{rows['job']}/", "/executions/"):
        page = text_of(reader.get(address))
        assert "formaction" not in page and "/new/" not in page


def test_the_home_page_sets_no_cookie(reader: Client) -> None:
    assert not reader.get("/").cookies


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_an_action_without_a_token_of_the_session_is_refused(
    rows: dict[str, int], operator: Client, headers: dict[str, str]
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies

    response = strict.post(f"/jobs/{rows['job']}/disable/", headers=headers)

    assert response.status_code == 403
    assert Job.objects.get(pk=rows["job"]).enabled


def test_the_token_in_the_page_makes_the_action_work(rows: dict[str, int], operator: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    strict.get("/jobs/")

    token = strict.cookies["csrftoken"].value
    response = strict.post(f"/jobs/{rows['job']}/disable/", headers={"X-CSRFToken": token})

    assert response.status_code == 303
    assert not Job.objects.get(pk=rows["job"]).enabled
