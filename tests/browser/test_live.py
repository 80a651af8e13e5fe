"""The live tick: silent when hidden, one request at a time, and never under the operator's hand.

The clock of the page is the test's own, so that a minute passes at once.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import Complaints, Site, sign_in
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes]

HIDE = """hidden => {
  Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden});
  document.dispatchEvent(new Event('visibilitychange'));
}"""
FOCUS = "window.dispatchEvent(new Event('focus'))"


class Ticks:
    """The requests of live regions a page sends, and how many are open at once."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sent = 0
        self.answered = 0
        page.on("request", self._sent)
        page.on("requestfinished", self._done)
        page.on("requestfailed", self._done)

    def _sent(self, request: Request) -> None:
        self.sent += "have=" in request.url

    def _done(self, request: Request) -> None:
        self.answered += "have=" in request.url

    def pass_time(self, seconds: float) -> None:
        """Let the page's clock go on and every answer come in."""
        self.page.clock.run_for(int(seconds * 1000))
        self.settle()

    def settle(self) -> None:
        """Wait until all requests are answered."""
        wait_until(self._quiet, 15, "all ticks are answered")

    def _quiet(self) -> bool:
        self.page.evaluate("1")
        return self.sent == self.answered


@pytest.fixture
def job(site: Site, request: pytest.FixtureRequest) -> int:
    """A job that runs when asked."""
    return site.add_job(f"Quiet {request.node.name}"[:100], "always_succeed", "1d")


@pytest.fixture
def watched(page: Page, job: int) -> Ticks:
    """The page of that job, on a clock of its own."""
    page.clock.install()
    page.goto(f"/jobs/{job}/")
    return Ticks(page)


def _run_now(page: Page, job: int) -> None:
    """A run asked for elsewhere, so that the next tick brings a change."""
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    answer = page.context.request.post(
        f"/jobs/{job}/trigger/", headers={"X-CSRFToken": token}, max_redirects=0
    )
    assert answer.status == 303


def test_ticks_come_at_the_interval_and_an_unchanged_page_is_not_touched(watched: Ticks) -> None:
    watched.page.evaluate("document.querySelector('#live').firstElementChild.dataset.mark = 'kept'")

    for _ in range(3):
        watched.pass_time(5.1)

    assert watched.sent == 3
    assert watched.page.locator("#live > [data-mark=kept]").count() == 1
    expect(watched.page.locator("#live-state")).to_contain_text("Live")


def test_a_hidden_tab_asks_nothing_and_asks_once_when_it_is_shown(watched: Ticks) -> None:
    watched.page.evaluate(HIDE, True)
    watched.pass_time(300)
    assert watched.sent == 0

    watched.page.evaluate(HIDE, False)
    watched.settle()
    assert watched.sent == 1


def test_a_quiet_reader_is_asked_for_less_often(watched: Ticks) -> None:
    watched.page.mouse.move(10, 10)
    watched.pass_time(121)
    before = watched.sent

    watched.page.clock.run_for(120_000)
    watched.settle()

    assert 2 <= watched.sent - before <= 5


def test_focus_scroll_text_and_open_details_stay_over_changing_ticks(watched: Ticks, job: int) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1360, "height": 420})
    page.locator("#settings summary").click()
    page.locator("#act-edit").focus()
    page.evaluate("scrollTo(0, 260)")
    newest = page.locator("#live .executions tbody tr").first
    seen: set[str | None] = set()

    def fresh_row() -> bool:
        watched.pass_time(6)
        return newest.count() > 0 and newest.get_attribute("id") not in seen

    for _ in range(5):
        _run_now(page, job)
        wait_until(fresh_row, 15, "a tick brings the new row")
        seen.add(newest.get_attribute("id"))

    assert len(seen) == 5
    expect(page.locator("#act-edit")).to_be_focused()
    assert page.evaluate("document.querySelector('#settings').open")
    assert page.evaluate("scrollY") == 260


def test_selected_text_holds_the_tick(watched: Ticks) -> None:
    page = watched.page
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#live .sentence'))")
    watched.pass_time(12)
    assert watched.sent == 0
    expect(page.locator("#live-state")).to_contain_text("Paused while you select")

    page.evaluate("getSelection().removeAllRanges()")
    watched.pass_time(6)
    assert watched.sent >= 1


def test_the_key_p_pauses_and_goes_on(watched: Ticks) -> None:
    page = watched.page
    page.keyboard.press("p")
    watched.pass_time(30)
    assert watched.sent == 0
    expect(page.locator("#live-state")).to_have_attribute("aria-pressed", "true")

    page.keyboard.press("p")
    watched.settle()
    assert watched.sent == 1


def test_a_slow_server_never_has_two_requests_of_a_region(watched: Ticks) -> None:
    waiting: list[Route] = []
    watched.page.route("**/*have=*", lambda route: waiting.append(route))
    watched.page.clock.run_for(14_000)
    wait_until(lambda: watched.page.evaluate("1") and waiting, 10, "the first tick is on its way")

    assert len(waiting) == 1
    waiting[0].continue_()
    watched.settle()


def test_errors_and_a_lost_network_change_nothing_and_are_told(
    watched: Ticks, complaints: Complaints
) -> None:
    complaints.expected += ["500", "ERR_FAILED", "htmx:"]
    page = watched.page
    before = page.locator("#live").inner_text()
    answers = iter(["fulfil", "abort"])

    def fail(route: Route) -> None:
        if next(answers, "abort") == "fulfil":
            route.fulfill(status=500, body="<p>broken</p>")
        else:
            route.abort()

    page.route("**/*have=*", fail)
    watched.pass_time(5.1)
    expect(page.locator("#live-state")).to_contain_text("Reconnecting")
    watched.pass_time(11)

    assert watched.sent == 2
    assert page.locator("#live").inner_text().split("\n")[:3] == before.split("\n")[:3]
    page.unroute("**/*have=*")
    watched.pass_time(30)
    expect(page.locator("#live-state")).to_contain_text("Live")


def test_an_ended_session_shows_a_banner_and_the_page_goes_on_after_sign_in(
    watched: Ticks, complaints: Complaints
) -> None:
    complaints.expected.append("401")
    page = watched.page
    session: list[Any] = [one for one in page.context.cookies() if one["name"] == "sessionid"]
    page.context.clear_cookies(name="sessionid")
    page.goto("/dashboard/")
    expect(page).to_have_url(f"{page.url.partition('/login')[0]}/login/?next=%2Fdashboard%2F")
    page.context.add_cookies(session)
    page.goto("/dashboard/")
    page.context.clear_cookies(name="sessionid")

    watched.pass_time(5.1)
    expect(page.locator("#signed-out")).to_be_visible()
    expect(page.locator("#live-state")).to_contain_text("Signed out")
    expect(page.locator("#live")).to_contain_text("Recent activity")
    assert page.locator("#id_password").count() == 0

    page.context.add_cookies(session)
    watched.pass_time(31)
    expect(page.locator("#signed-out")).to_be_hidden()
    expect(page.locator("#live-state")).to_contain_text("Live")


def test_coming_back_after_a_sign_in_elsewhere_asks_at_once(watched: Ticks, complaints: Complaints) -> None:
    complaints.expected.append("401")
    page = watched.page
    page.goto("/dashboard/")
    session: list[Any] = [one for one in page.context.cookies() if one["name"] == "sessionid"]
    page.context.clear_cookies(name="sessionid")
    watched.pass_time(5.1)
    expect(page.locator("#signed-out")).to_be_visible()

    page.context.add_cookies(session)
    page.evaluate(FOCUS)
    watched.settle()
    expect(page.locator("#signed-out")).to_be_hidden()


def test_focus_asks_once_and_never_in_a_hidden_or_paused_tab(watched: Ticks) -> None:
    page = watched.page
    page.evaluate(HIDE, True)
    page.evaluate(FOCUS)
    watched.settle()
    assert watched.sent == 0

    for shown in (1, 2):
        page.evaluate(HIDE, False)
        page.evaluate(FOCUS)
        watched.settle()
        assert watched.sent == shown
        page.evaluate(HIDE, True)
    page.evaluate(HIDE, False)
    watched.settle()

    page.keyboard.press("p")
    watched.pass_time(2)
    before = watched.sent
    page.evaluate(FOCUS)
    watched.pass_time(2)
    assert watched.sent == before


def test_actions_go_on_after_signing_in_again_in_another_tab(watched: Ticks, job: int) -> None:
    page = watched.page
    other = page.context.new_page()
    other.goto("/dashboard/")
    other.locator("[popovertarget=user-menu]").click()
    other.get_by_role("button", name="Sign out").click()
    sign_in(other)

    page.locator("#act-run").click()
    expect(page.locator("#toasts")).to_contain_text("Queued one run")
    page.locator("[popovertarget=user-menu]").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("main").get_by_role("link", name="Sign in")).to_be_visible()
