"""The environment is read once, into a frozen record; a wrong value is refused by name, value and rule."""

from __future__ import annotations

import dataclasses
from ipaddress import ip_network
from pathlib import Path

import pytest

from task_scheduler.environment import BadEnvironment, Environment, read_environment, variables

PRODUCTION = {
    "DEBUG": "0",
    "SECRET_KEY": "Zk3v9QmX7tLr2WcY8nBf5HsJ4pDg6RaEuTiOqVwZk3v9QmX7tLr2",
    "ALLOWED_HOSTS": "scheduler.example.org",
}


def _refusal(**environ: str) -> str:
    with pytest.raises(BadEnvironment) as caught:
        read_environment(environ)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_nothing_set_gives_the_defaults() -> None:
    assert read_environment({}) == Environment()


def test_every_stated_default_is_the_default_in_code() -> None:
    stated = {v.name: v.default for v in variables() if v.default}

    assert read_environment(stated) == Environment()


def test_an_empty_value_counts_as_unset() -> None:
    assert read_environment({v.name: "" for v in variables()}) == Environment()


def test_the_record_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        read_environment({}).debug = False  # type: ignore[misc]


@pytest.mark.parametrize("text", ["1", "true", "True", "yes", "on"])
def test_a_flag_reads_yes(text: str) -> None:
    assert read_environment({"READYZ_REQUIRE_HEARTBEATS": text}).readyz_require_heartbeats is True


@pytest.mark.parametrize("text", ["0", "false", "NO", "off"])
def test_a_flag_reads_no(text: str) -> None:
    assert read_environment({"WEBUI_PUBLIC_READ": text}).webui_public_read is False


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("DEBUG", "maybe", "1 or 0"),
        ("LEASE_SECONDS", "abc", "a whole number from 1 to 86400"),
        ("LEASE_SECONDS", "0", "a whole number from 1 to 86400"),
        ("LEASE_SECONDS", "86401", "a whole number from 1 to 86400"),
        ("LEASE_SECONDS", "-5", "a whole number from 1 to 86400"),
        ("LEASE_SECONDS", "1.5", "a whole number from 1 to 86400"),
        ("LEASE_SECONDS", "1_0", "a whole number from 1 to 86400"),
        ("HEARTBEAT_SECONDS", "9" * 40, "a whole number"),
        ("MISFIRE_CATCH_UP_CAP", "0", "a whole number from 1 to 1000"),
        ("ALLOWED_HOSTS", "https://a.example.org", "a comma list of host names"),
        ("CSRF_TRUSTED_ORIGINS", "scheduler.example.org", "origins with scheme"),
        ("SCHEDULER_TASK_MODULES", "acme/tasks.py", "module names"),
        ("EGRESS_ALLOW_NETWORKS", "10.0.0.1/8", "without host bits"),
        ("EGRESS_ALLOW_NETWORKS", "intranet", "networks"),
        ("SCHEDULER_SELF_URL", "ftp://here", "http://… or https://…"),
        ("DEV_ADMIN_EMAIL", "nobody", "a mail address"),
    ],
)
def test_a_wrong_value_is_refused_with_name_value_and_rule(name: str, value: str, rule: str) -> None:
    message = _refusal(**{name: value})

    assert message.startswith(f"{name}={value!r} is refused; accepted: ")
    assert rule in message


@pytest.mark.parametrize("name", ["DATABASE_URL", "DATABASE_DIRECT_URL", "REDIS_URL"])
def test_a_refused_address_never_shows_its_password(name: str) -> None:
    message = _refusal(**{name: "mysql://me:hunter2@host/db"})

    assert name in message and "hunter2" not in message and "://…" in message


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_both_spellings_of_the_postgresql_scheme_are_accepted(scheme: str) -> None:
    url = f"{scheme}://scheduler:scheduler@localhost:5432/task_scheduler"

    assert read_environment({"DATABASE_URL": url}).database_url == url


def test_the_low_numbers_of_a_trial_are_legal() -> None:
    record = read_environment(
        {
            "LEASE_SECONDS": "10",
            "LEASE_BUFFER_SECONDS": "2",
            "HEARTBEAT_SECONDS": "1",
            "ALIVE_SECONDS": "5",
            "UNKNOWN_TASK_SECONDS": "4",
        }
    )

    assert (record.lease_seconds, record.alive_seconds, record.unknown_task_seconds) == (10, 5, 4)


def test_a_process_may_not_count_as_dead_between_two_heartbeats() -> None:
    assert "more than HEARTBEAT_SECONDS (50)" in _refusal(HEARTBEAT_SECONDS="50")


def test_lists_and_networks_become_values() -> None:
    record = read_environment(
        {"SCHEDULER_TASK_MODULES": "acme.tasks, acme.reports", "EGRESS_ALLOW_NETWORKS": "10.0.0.0/8,fd00::/8"}
    )

    assert record.task_modules == ("acme.tasks", "acme.reports")
    assert record.egress_allow_networks == (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def test_a_relative_folder_is_below_the_project(tmp_path: Path) -> None:
    assert read_environment({"ARTIFACT_DIR": "out"}).artifact_dir.is_absolute()
    assert read_environment({"ARTIFACT_DIR": str(tmp_path)}).artifact_dir == tmp_path


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from-the-file\n")

    assert read_environment({"SCHEDULER_CLI_SECRET_FILE": str(file)}).cli_secret == "from-the-file"


def test_a_secret_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in _refusal(SCHEDULER_CLI_SECRET_FILE=str(tmp_path / "none"))


def test_a_secret_given_twice_is_refused(tmp_path: Path) -> None:
    message = _refusal(SCHEDULER_CLI_SECRET="a", SCHEDULER_CLI_SECRET_FILE=str(tmp_path))

    assert "one of the two" in message


def test_production_starts_with_a_key_and_hosts() -> None:
    assert read_environment(PRODUCTION).debug is False


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"SECRET_KEY": ""}, "at least 50 random characters"),
        ({"SECRET_KEY": "short"}, "at least 50 random characters"),
        ({"SECRET_KEY": "a" * 60}, "at least 50 random characters"),
        ({"ALLOWED_HOSTS": ""}, "real host names"),
        ({"ALLOWED_HOSTS": "*"}, "real host names"),
        ({"WEBUI_AUTH": "0"}, "opens every page"),
    ],
)
def test_production_refuses_what_only_a_try_out_may_do(change: dict[str, str], rule: str) -> None:
    assert rule in _refusal(**{**PRODUCTION, **change})


def test_the_key_of_the_try_out_is_refused_in_production() -> None:
    from task_scheduler.settings import DEVELOPMENT_KEY

    message = _refusal(**{**PRODUCTION, "SECRET_KEY": DEVELOPMENT_KEY})

    assert DEVELOPMENT_KEY not in message


def test_a_secret_of_blanks_is_refused_instead_of_counting_as_none() -> None:
    with pytest.raises(BadEnvironment, match="SCHEDULER_CLI_SECRET=\\(value not shown\\) is refused"):
        read_environment({**PRODUCTION, "SCHEDULER_CLI_SECRET": "  "})


def test_a_number_is_written_in_ascii_digits() -> None:
    with pytest.raises(BadEnvironment, match="LEASE_SECONDS"):
        read_environment({**PRODUCTION, "LEASE_SECONDS": "\u0663"})
