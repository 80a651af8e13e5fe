"""The built-in tasks, called as the child calls them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from scheduler_app.errors import SchedulerError, ValidationFailed
from scheduler_app.services.executions import create_manual_execution
from scheduler_app.services.jobs import create_job
from scheduler_app.tasks import TaskContext
from scheduler_app.tasks.artifacts import write_artifact
from scheduler_app.tasks.registry import get_task, validate_config


def context(*, attempt: int = 1, delivery_key: str = "slot") -> TaskContext:
    return TaskContext(5, 6, attempt, None, delivery_key, 7)


def run(name: str, config: dict[str, object] | None = None, **about: object) -> object:
    """Check the config and call the task, as the child does."""
    found = get_task(name)
    assert found is not None
    return found.function(context(**about), validate_config(name, config or {}))  # type: ignore[arg-type]


@pytest.fixture
def artifacts(tmp_path: Path, settings: Settings) -> Path:
    folder = tmp_path / "artifacts"
    settings.SCHEDULER = replace(django_settings.SCHEDULER, artifact_dir=folder)
    return folder


def test_sleep_for_seconds_tells_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sleep_for_seconds", {"seconds": 0.01}) == {"slept_seconds": 0.01}
    assert capsys.readouterr().out == "Sleeping for 0.01 s.\nAwake again.\n"


def test_always_succeed_says_which_run_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("always_succeed") is None
    assert "job 6, execution 5" in capsys.readouterr().out


def test_always_fail_fails() -> None:
    with pytest.raises(RuntimeError, match="on purpose"):
        run("always_fail")


def test_fail_once_then_succeed_fails_once_per_occurrence(artifacts: Path) -> None:
    for key in ("slot one", "slot/../two"):
        with pytest.raises(RuntimeError, match="first attempt"):
            run("fail_once_then_succeed", delivery_key=key)
        assert run("fail_once_then_succeed", delivery_key=key, attempt=2) is None
    assert {path.name for path in artifacts.iterdir()} == {".fail_once"}


# --- write_file_artifact


def test_an_artifact_is_written_and_replaced(artifacts: Path) -> None:
    run("write_file_artifact", {"filename": "report.txt", "content": "old"})
    result = run("write_file_artifact", {"filename": "report.txt", "content": "größer"})

    assert result == {"path": str(artifacts / "report.txt"), "bytes": 8}
    assert (artifacts / "report.txt").read_text(encoding="utf-8") == "größer"
    assert [path.name for path in artifacts.iterdir()] == ["report.txt"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", ".hidden", "a\nb", "x" * 201]
)
def test_a_name_that_is_not_plain_is_refused_at_the_door(artifacts: Path, name: str) -> None:
    with pytest.raises(ValidationFailed, match=r"config\.filename"):
        run("write_file_artifact", {"filename": name, "content": "x"})
    assert not artifacts.exists()


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a\\b", ".hidden", "\u00e9" * 150])
def test_the_writer_refuses_bad_names_by_itself(artifacts: Path, name: str) -> None:
    with pytest.raises(SchedulerError, match="refused as file name"):
        write_artifact(artifacts, name, b"x")
    assert not artifacts.exists()


def test_more_than_a_mebibyte_is_refused(artifacts: Path) -> None:
    with pytest.raises(SchedulerError, match="1 MiB"):
        write_artifact(artifacts, "big", b"x" * (1024 * 1024 + 1))


def test_a_symbolic_link_is_replaced_not_followed(artifacts: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("untouched")
    artifacts.mkdir()
    (artifacts / "link.txt").symlink_to(outside)

    run("write_file_artifact", {"filename": "link.txt", "content": "inside"})

    assert outside.read_text() == "untouched"
    assert not (artifacts / "link.txt").is_symlink()
    assert (artifacts / "link.txt").read_text() == "inside"


def test_a_name_taken_by_a_folder_is_one_clear_line(artifacts: Path) -> None:
    (artifacts / "taken").mkdir(parents=True)
    with pytest.raises(SchedulerError, match="taken cannot be written to"):
        run("write_file_artifact", {"filename": "taken", "content": "x"})
    assert [path.name for path in artifacts.iterdir()] == ["taken"]


# --- http_health_check_local


@pytest.fixture
def local_service(settings: Settings) -> Iterator[dict[str, object]]:
    """A service on loopback; the test sets the status it answers and reads the paths it was asked for."""
    state: dict[str, object] = {"status": 200, "paths": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths = state["paths"]
            assert isinstance(paths, list)
            paths.append(self.path)
            self.send_response(int(str(state["status"])))
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        settings.SCHEDULER = replace(django_settings.SCHEDULER, self_url=url)
        yield state
        server.shutdown()


def test_the_health_check_asks_healthz_of_this_product_and_no_proxy(
    local_service: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    assert run("http_health_check_local") == {"status": 200}
    assert local_service["paths"] == ["/healthz"]


@pytest.mark.parametrize("status", [302, 404, 503])
def test_any_other_answer_fails_and_is_not_followed(local_service: dict[str, object], status: int) -> None:
    local_service["status"] = status
    with pytest.raises(SchedulerError, match=f"answered {status}, not 200"):
        run("http_health_check_local")
    assert local_service["paths"] == ["/healthz"]


def test_an_operator_gives_no_address() -> None:
    with pytest.raises(ValidationFailed, match=r"config\.url"):
        run("http_health_check_local", {"url": "http://169.254.169.254/"})


def test_a_service_that_is_away_is_one_clear_line(settings: Settings) -> None:
    settings.SCHEDULER = replace(django_settings.SCHEDULER, self_url="http://127.0.0.1:1")
    with pytest.raises(SchedulerError, match=r"http://127\.0\.0\.1:1/healthz does not answer: .*refused"):
        run("http_health_check_local")


# --- what reads or writes the database


@pytest.fixture
def two_pending_runs(transactional_db: None) -> None:
    values = {"name": "Reported", "task": "always_succeed", "every": "1h", "overlap_policy": "allow"}
    job = create_job(values={"schedule_type": "interval", **values}, actor="system:test")
    for _ in range(2):
        create_manual_execution(job_id=job.id, actor="system:test")


def test_generate_report_counts_executions_per_status(
    two_pending_runs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("generate_report") == {"pending": 2}

    heading, line = capsys.readouterr().out.splitlines()
    assert heading.startswith("Report at ") and heading.endswith("on the latest 2 executions")
    assert line.split() == ["pending", "2", "100.0%"]


def test_generate_report_of_an_empty_database_is_no_error(
    transactional_db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("generate_report") == {}
    assert "latest 0 executions" in capsys.readouterr().out


def test_cleanup_old_runs_prunes_and_says_what_went(
    two_pending_runs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    run("cleanup_old_runs")
    assert "removed 0 executions" in capsys.readouterr().out
