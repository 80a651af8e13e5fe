"""Times beside instants: what has just become due is no warning, what is long overdue is one."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Site

pytestmark = [pytest.mark.browser, pytest.mark.processes]

PASSED = """(at, seconds) => {
  at.dataset.rel = new Date(Date.now() - seconds * 1000).toISOString();
}"""


@pytest.fixture
def job(site: Site, request: pytest.FixtureRequest) -> int:
    """A job whose next run is a day away."""
    return site.add_job(f"Times {request.node.name}"[:100], "always_succeed", "1d")


def _held(page: Page, address: str) -> None:
    """The page on a clock of its own, paused so that no tick brings the stored time back."""
    page.clock.install()
    page.goto(address)
    page.keyboard.press("p")
    expect(page.locator("#live-state")).to_have_attribute("aria-pressed", "true")


def _let_pass(page: Page, at: Locator, seconds: int) -> None:
    at.evaluate(PASSED, seconds)
    page.clock.run_for(1000)


def test_a_next_run_is_late_only_after_fifteen_seconds(page: Page, job: int) -> None:
    _held(page, "/jobs/")
    at = page.locator(f"#job-{job} [data-due]")
    expect(at).to_have_text(re.compile("^in "))

    for seconds in (1, 4, 10):
        _let_pass(page, at, seconds)
        expect(at).to_have_text("due now")
        expect(at).not_to_have_class(re.compile("late"))

    _let_pass(page, at, 40)
    expect(at).to_have_text(re.compile(r"^4\d s late$"))
    expect(at).to_have_class(re.compile("late"))


def test_an_upcoming_run_becomes_due_and_never_a_warning(page: Page, job: int) -> None:
    _held(page, f"/jobs/{job}/")
    at = page.locator("section[aria-labelledby=upcoming-title] [data-rel]").first

    _let_pass(page, at, 3)
    expect(at).to_have_text("due now")

    _let_pass(page, at, 40)
    expect(at).to_have_text(re.compile(r"^4\d s ago$"))
    expect(at).not_to_have_class(re.compile("late"))
