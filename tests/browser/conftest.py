"""A real site on a file of its own and a real Chromium; what the console complains about fails the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.harness.chromium import chromium_path
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Site:
    """Web, scheduler and worker of the product on one SQLite file."""

    url: str
    environment: dict[str, str]

    def manage(self, *words: str) -> str:
        """Run a command on the same database; its output."""
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add_job(self, name: str, task: str, every: str, *options: str) -> int:
        """A new interval job; its id."""
        said = self.manage("job", "add", name, task, "interval", "--every", every, *options)
        return int(said.split()[1])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`scheduler serve --with-worker`, stopped with everything it started."""
    folder = tmp_path_factory.mktemp("site")
    port = _free_port()
    kept = ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
    environment = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "DATABASE_URL": f"sqlite:///{folder}/site.sqlite3",
        "DEBUG": "1",
        "PYTHONUNBUFFERED": "1",
    }
    here = Site(f"http://127.0.0.1:{port}", environment)
    here.manage("migrate", "--verbosity", "0")
    here.manage("ensure_dev_user")
    command = [sys.executable, "manage.py", "scheduler", "serve", "--with-worker", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_until(
            lambda: _answers(here.url), 40, f"the site answers: {(folder / 'log').read_text()[-2000:]}"
        )
        yield here
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser a module; it must be gone before the next module uses the database."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        yield browser
        browser.close()


class Complaints:
    """What the console said; `expected` are parts of messages a test provokes on purpose."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.expected: list[str] = []

    def listen(self, page: Page) -> None:
        """Collect errors and warnings of a page."""
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.said.append(f"{message.type}: {message.text}")

    def unexpected(self) -> list[str]:
        """Whatever no test asked for."""
        return [one for one in self.said if not any(part in one for part in self.expected)]


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """Fails the test at its end when the console had anything to say."""
    collected = Complaints()
    yield collected
    assert collected.unexpected() == []


@pytest.fixture
def context(chromium: Browser, site: Site) -> Iterator[BrowserContext]:
    """A fresh visitor."""
    made = chromium.new_context(base_url=site.url, viewport={"width": 1360, "height": 900})
    made.set_default_timeout(15_000)
    yield made
    made.close()


def sign_in(page: Page) -> None:
    """As the operator of the try-out."""
    page.goto("/login/")
    page.fill("#id_username", "admin")
    page.fill("#id_password", "admin")
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/dashboard/")


@pytest.fixture
def page(context: BrowserContext, complaints: Complaints) -> Page:
    """A tab that is signed in."""
    made = context.new_page()
    complaints.listen(made)
    sign_in(made)
    return made
