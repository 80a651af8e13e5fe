"""The demo of a minute, walked in a real browser, with script and without."""

from __future__ import annotations

from contextlib import suppress

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import Error as PlaywrightError

from tests.browser.conftest import Complaints, Site, sign_in
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def _new_job(page: Page, name: str, every: str) -> None:
    page.get_by_role("link", name="New job").first.click()
    page.fill("#id_name", name)
    page.select_option("#id_task", "always_succeed")
    page.fill("#id_every", every)


def test_from_the_home_page_to_a_job_that_runs_stops_and_runs_again(
    context: BrowserContext, complaints: Complaints, site: Site
) -> None:
    page = context.new_page()
    complaints.listen(page)
    page.goto("/")
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.fill("#id_username", "admin")
    page.fill("#id_password", "admin")
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{site.url}/dashboard/")

    _new_job(page, "Demo", "5s")
    expect(page.locator("#preview-sentence")).to_contain_text("Every 5 seconds")
    expect(page.locator("#task-fields")).to_contain_text("Print one line and succeed")
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Demo")
    expect(page.locator("#toasts")).to_contain_text("Demo is created")

    page.get_by_role("link", name="Dashboard").click()
    activity = page.locator("section", has=page.get_by_role("heading", name="Recent activity"))
    row = activity.locator("tbody tr", has_text="Succeeded").first
    expect(row).to_be_visible(timeout=25_000)
    row.get_by_role("link", name="Execution").click()
    expect(page.locator("#output")).to_contain_text("All is well")

    page.get_by_role("link", name="Demo").click()
    page.locator("#act-switch").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Disabled")
    page.locator("#act-switch").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Active")
    before = page.locator("#live .executions tbody tr").first.get_attribute("id")
    newest = page.locator(f"#live .executions tbody tr:first-child:not(#{before})", has_text="Succeeded")
    expect(newest).to_be_visible(timeout=25_000)


def test_disabling_a_job_with_queued_rows_asks_and_cancels_them(page: Page, site: Site) -> None:
    options = ("--config", '{"seconds": 20}', "--overlap-policy", "queue")
    job = site.add_job("Line", "sleep_for_seconds", "1s", *options)
    page.goto(f"/executions/?job={job}&status=pending")
    # One of them may be about to start, so three are needed for two to be cancelled.
    wait_until(lambda: page.reload() and page.locator("#live tbody tr").count() >= 3, 30, "three rows wait")
    queued = page.locator("#live tbody tr").first.get_attribute("id")
    page.goto(f"/jobs/{job}/")

    page.locator("#act-switch").click()
    dialog = page.locator("#dlg")
    expect(dialog).to_contain_text("queued executions will be cancelled for good")
    expect(dialog.get_by_text("Keep it enabled")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#act-switch")).to_be_focused()

    page.locator("#act-switch").click()
    heading, agree = page.get_by_role("heading", level=1), dialog.get_by_role("button", name="Disable")
    agree.click()

    def is_disabled() -> bool:
        """A row that was queued meanwhile makes the page ask again."""
        if agree.is_visible() and agree.is_enabled():
            with suppress(PlaywrightError):
                agree.click(timeout=1_000)
        return "Disabled" in heading.inner_text()

    wait_until(is_disabled, 30, "the job is disabled")
    expect(page.locator(f"#{queued}")).to_contain_text("Cancelled")


def test_the_same_without_script(chromium: Browser, site: Site) -> None:
    context = chromium.new_context(base_url=site.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page)

    _new_job(page, "Plain", "1h")
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Plain")
    page.get_by_role("button", name="Run now").click()
    expect(page.locator("#toasts")).to_contain_text("Queued one run of Plain")
    page.get_by_role("button", name="Disable").click()
    if page.url.endswith("/disable/confirm/"):
        page.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Disabled")
    page.get_by_role("button", name="Enable").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Active")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete the job").click()
    expect(page).to_have_url(f"{site.url}/jobs/")
    page.fill("#q", "Plain")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#live")).to_contain_text("No job matches")
    page.locator("[popovertarget=user-menu]").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{site.url}/")
    context.close()


def test_a_refused_form_keeps_what_was_typed_and_leads_to_the_fault(
    page: Page, complaints: Complaints
) -> None:
    complaints.expected.append("422")
    _new_job(page, "Refused", "0s")
    page.get_by_role("button", name="Create job").click()

    expect(page.locator("#error-summary")).to_be_focused()
    expect(page.locator("#id_name")).to_have_value("Refused")
    expect(page.locator("#id_every")).to_have_attribute("aria-invalid", "true")


def test_the_fields_of_a_kind_of_schedule_are_shown_with_it(page: Page) -> None:
    page.goto("/jobs/new/")
    expect(page.locator("#id_every")).to_be_visible()
    page.get_by_text("Cron", exact=True).click()
    expect(page.locator("#id_every")).to_be_hidden()
    page.fill("#id_cron", "61 * * * *")
    expect(page.locator("#preview")).to_contain_text("0 to 59")
    page.fill("#id_cron", "0 9 * * 1-5")
    page.fill("#id_timezone", "America/Los_Angeles")
    expect(page.locator("#preview")).to_contain_text("At 09:00 on Monday to Friday, America/Los_Angeles time")
