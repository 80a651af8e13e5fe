"""Signing in and out: where it leads, what it tells, and when it is refused for a while."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from django.db.models import F
from django.test import Client

from scheduler_app.models import RateBucket
from tests.pages.conftest import Configure
from tests.pages.reading import text_of

PAIR = {"username": "ada", "password": "right horse"}


pytestmark = pytest.mark.usefixtures("ada")


def test_sign_in_lands_on_the_dashboard(reader: Client) -> None:
    response = reader.post("/login/", PAIR)

    assert response.status_code == 303 and response["Location"] == "/dashboard/"
    assert reader.get("/dashboard/").status_code == 200


def test_sign_in_leads_back_to_where_one_was(reader: Client) -> None:
    assert reader.post("/login/", {**PAIR, "next": "/jobs/?q=x"})["Location"] == "/jobs/?q=x"


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "https:evil.example",
        "///evil.example",
        "/jobs/\n/x",
        "jobs/",
        "%2F%2Fevil.example",
    ],
)
def test_sign_in_never_leads_to_another_site(reader: Client, wanted: str) -> None:
    assert reader.post(f"/login/?next={quote(wanted)}", PAIR)["Location"] == "/dashboard/"
    reader.post("/logout/")
    assert reader.post("/login/", {**PAIR, "next": wanted})["Location"] == "/dashboard/"


@pytest.mark.parametrize(
    "wanted", ["/logout/", "/logout", "/logout/?x=1", "/%6cogout/", "/jobs/../logout/", "/logout/#top"]
)
def test_sign_in_never_leads_to_sign_out(reader: Client, wanted: str) -> None:
    assert reader.post("/login/", {**PAIR, "next": wanted})["Location"] == "/dashboard/"


def test_the_link_in_the_header_keeps_where_the_person_wants_to_go(reader: Client) -> None:
    wanted = "/jobs/?q=a&state=active"
    page = reader.get(f"/login/?{urlencode({'next': wanted})}")
    again = reader.post("/login/", {"username": "ada", "password": "wrong", "next": wanted})

    for answer in (page, again):
        link = re.search(r'<a class="btn" href="([^"]*)">Sign in</a>', text_of(answer))
        assert link and parse_qs(urlsplit(unescape(link.group(1))).query) == {"next": [wanted]}
    assert 'href="/login/">Sign in</a>' in text_of(reader.get("/login/"))


def test_a_wrong_pair_says_the_same_for_known_and_unknown_names(reader: Client) -> None:
    known = reader.post("/login/", {"username": "ada", "password": "wrong", "next": "/jobs/"})
    unknown = reader.post("/login/", {"username": "bob", "password": "wrong", "next": "/jobs/"})

    assert known.status_code == unknown.status_code == 422
    for answer, name in ((text_of(known), "ada"), (text_of(unknown), "bob")):
        assert "do not belong together" in answer and f'value="{name}"' in answer
        assert 'name="next" value="/jobs/"' in answer and "wrong" not in answer


def test_the_attempt_after_the_limit_waits_even_with_the_right_password(
    reader: Client, configure: Configure
) -> None:
    configure(login_rate_limit_attempts=3)
    for _ in range(3):
        assert reader.post("/login/", {"username": "ADA", "password": "wrong"}).status_code == 422

    refused = reader.post("/login/", PAIR)

    assert refused.status_code == 429
    assert 290 <= int(refused["Retry-After"]) <= 300 and "Too many attempts" in text_of(refused)
    RateBucket.objects.update(updated_at=F("updated_at") - timedelta(minutes=5))
    assert reader.post("/login/", PAIR).status_code == 303


def test_a_success_forgets_the_failures_of_the_name(reader: Client, configure: Configure) -> None:
    configure(login_rate_limit_attempts=3)
    for _ in range(2):
        reader.post("/login/", {"username": "ada", "password": "wrong"})
    reader.post("/login/", PAIR)
    reader.post("/logout/")

    for _ in range(3):
        assert reader.post("/login/", {"username": "ada", "password": "wrong"}).status_code == 422


def test_an_address_that_tries_many_names_waits_too(reader: Client, configure: Configure) -> None:
    configure(login_rate_limit_attempts=2)
    for number in range(10):
        reader.post("/login/", {"username": f"user{number}", "password": "wrong"})

    assert reader.post("/login/", PAIR).status_code == 429


@pytest.mark.parametrize("field", ["username", "password"])
def test_odd_texts_are_a_wrong_pair(reader: Client, field: str) -> None:
    for text in ("a\x00b", "x" * 100_000, "", "\ufffd☃"):
        assert reader.post("/login/", {**PAIR, field: text}).status_code == 422
        RateBucket.objects.all().delete()


def test_signed_in_people_are_led_on(operator: Client) -> None:
    assert operator.get("/login/")["Location"] == "/dashboard/"


def test_sign_out_is_a_post_and_ends_the_session(operator: Client) -> None:
    assert operator.get("/logout/").status_code == 405
    assert operator.post("/logout/")["Location"] == "/"
    assert operator.get("/dashboard/").status_code == 302


def test_the_session_ends_with_the_browser_unless_asked(reader: Client) -> None:
    assert reader.post("/login/", PAIR).cookies["sessionid"]["max-age"] == ""
    reader.post("/logout/")
    assert int(reader.post("/login/", {**PAIR, "remember": "1"}).cookies["sessionid"]["max-age"]) > 1_000_000
