"""`job`: what the verbs do, print and answer in JSON."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from scheduler_app.models import Event, Execution, Job, JobVersion
from scheduler_app.queries.representations import job_dict, missed_range_dict, shown_job_dict
from tests.commands.running import Answer, run_cli
from tests.queries.rows import NOON, make_execution, make_job, make_missed_range

pytestmark = pytest.mark.django_db

EVERYTHING: dict[str, tuple[str, Any]] = {
    "description": ("for the board", "for the board"),
    "timezone": ("Europe/Berlin", "Europe/Berlin"),
    "config": ('{"seconds": 5}', {"seconds": 5}),
    "dst-policy": ("cadence", "cadence"),
    "overlap-policy": ("queue", "queue"),
    "misfire-policy": ("catch_up", "catch_up"),
    "misfire-grace-seconds": ("0", 0),
    "max-attempts": ("1", 1),
    "retry-backoff": ("constant", "constant"),
    "retry-backoff-seconds": ("7", 7),
    "retry-max-delay-seconds": ("70", 70),
    "retry-jitter": ("full", "full"),
    "timeout-seconds": ("11", 11),
    "on-lost-worker": ("fail", "fail"),
    "alert-mode": ("log_only", "log_only"),
    "retention-count": ("12", 12),
    "retention-days": ("13", 13),
    "starts-at": ("2098-01-01T00:00:00Z", "2098-01-01T00:00:00Z"),
    "ends-at": ("2099-01-01T00:00:00+01:00", "2098-12-31T23:00:00Z"),
    "anchor-at": ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    "queue": ("slow", "slow"),
    "priority": ("-3", -3),
    "key": ("board-1", "board-1"),
}


def _added(*words: str) -> dict[str, Any]:
    answer = run_cli("job", "add", *words, "--format", "json")
    assert answer.code == 0, answer.err
    shown: dict[str, Any] = answer.json
    return shown


def test_the_documented_line_adds_a_job_and_prints_its_id_schedule_and_next_run() -> None:
    words = ("--cron", "0 9 * * 1-5", "--timezone", "America/Los_Angeles")
    answer = run_cli("job", "add", "Daily report", "generate_report", "cron", *words)

    job = Job.objects.get(name="Daily report")
    assert answer.code == 0 and answer.err == ""
    assert answer.out.startswith(f"job {job.pk} added: Daily report, ")
    assert job_dict(job)["next_run_at"] in answer.out.split()
    assert "Los_Angeles" in answer.out and answer.out.count("\n") == 1


def test_the_documented_bad_line_names_the_task_and_the_catalogue() -> None:
    answer = run_cli("job", "add", "Bad job", "not_a_real_task", "interval", "--every", "30s")

    assert answer.code == 1
    assert "not_a_real_task" in answer.err and "job catalog" in answer.err


def test_every_option_of_add_reaches_its_column() -> None:
    options = [part for name, (text, _) in EVERYTHING.items() for part in (f"--{name}", text)]
    labels = ("--label", "team:ops", "--label", "nightly", "--queue-limit", "9", "--disabled")

    shown = _added("X", "sleep_for_seconds", "interval", "--every", "90s", *options, *labels)

    assert {name: shown[name.replace("-", "_")] for name in EVERYTHING} == {
        name: value for name, (_, value) in EVERYTHING.items()
    }
    assert shown["labels"] == ["team:ops", "nightly"]
    assert shown["enabled"] is False
    assert Job.objects.get(pk=shown["id"]).queue_limit == 9


@pytest.mark.parametrize("every", ["30s", "5m", "2h", "1d"])
def test_each_unit_of_an_interval_is_read(every: str) -> None:
    assert _added("X", "always_succeed", "interval", "--every", every)["schedule"] == {"every": every}


@pytest.mark.parametrize(
    ("schedule_type", "value"),
    [
        ("interval", '{"every": "30s"}'),
        ("cron", '{"expression": "0 9 * * 1-5"}'),
        ("one_time", '{"run_at": "2099-01-01T00:00:00Z"}'),
    ],
)
def test_a_schedule_value_is_taken_for_each_type(schedule_type: str, value: str) -> None:
    shown = _added("X", "always_succeed", schedule_type, "--schedule-value", value)

    assert shown["schedule_type"] == schedule_type and shown["next_run_at"]


def test_a_local_run_at_is_read_in_the_zone_and_stored_in_utc() -> None:
    words = ("--run-at", "2099-07-01T12:00:00", "--timezone", "Asia/Tokyo")

    shown = _added("X", "always_succeed", "one_time", *words)

    assert shown["next_run_at"] == "2099-07-01T03:00:00Z"


def test_catch_up_with_overlap_skip_is_warned_about_on_stderr() -> None:
    words = ("job", "add", "X", "always_succeed", "interval", "--every", "1h", "--misfire-policy", "catch_up")

    answer = run_cli(*words, "--format", "json")

    assert answer.code == 0 and answer.json["misfire_policy"] == "catch_up"
    assert "warning" in answer.err and "overlap policy skip" in answer.err
    assert "warning" not in run_cli("job", "edit", str(answer.json["id"]), "--overlap-policy", "queue").err


def test_a_new_job_is_signed_with_the_person_at_the_keyboard(job: Job) -> None:
    assert JobVersion.objects.get(job=job).actor.startswith("cli:")
    assert "@" in Event.objects.get(job=job, action="job.create").actor


def test_a_list_shows_live_jobs_newest_first_as_a_table_and_as_json(job: Job) -> None:
    later = make_job(name="Later", task="always_fail")
    answer = run_cli("job", "list")

    lines = answer.out.splitlines()
    assert lines[0].split() == ["ID", "NAME", "TASK", "SCHEDULE", "NEXT", "RUN", "STATE"]
    assert [line.split()[0] for line in lines[1:]] == [str(later.pk), str(job.pk)]
    assert run_cli("job", "list", "--format", "json").json == {
        "items": [job_dict(later), job_dict(job)],
        "next": None,
    }
    assert run_cli("job", "list", "--search", "night", "--format", "json").json["items"] == [job_dict(job)]
    assert len(run_cli("job", "list", "--task", "always_fail", "--format", "json").json["items"]) == 1


def test_a_list_that_goes_on_says_how(job: Job) -> None:
    newest = make_job()
    first = run_cli("job", "list", "--limit", "1")
    cursor = first.err.split()[-1]

    assert newest.name in first.out and "--cursor" in first.err
    assert run_cli("job", "list", "--limit", "1", "--cursor", cursor, "--format", "json").json == {
        "items": [job_dict(job)],
        "next": None,
    }


def test_an_empty_list_says_so_beside_the_data() -> None:
    assert "no jobs" in run_cli("job", "list").err
    assert run_cli("job", "list", "--format", "json") == Answer(
        0, '{\n  "items": [],\n  "next": null\n}\n', ""
    )


def test_a_job_whose_schedule_is_broken_is_listed_and_shown() -> None:
    broken = make_job(schedule_type="cron", schedule={"expression": "garbage"}, fault="cannot be read")

    assert "broken: " in run_cli("job", "list").out
    assert run_cli("job", "show", str(broken.pk)).code == 0
    assert run_cli("job", "preview", str(broken.pk)).code == 1


def test_show_prints_every_field_and_the_next_runs(job: Job) -> None:
    answer = run_cli("job", "show", str(job.pk))

    assert [name for name in job_dict(job) if f"\n{name} " not in answer.out] == []
    assert job_dict(job)["next_run_at"] in answer.out.splitlines()[-3]
    assert run_cli("job", "show", str(job.pk), "--format", "json").json == shown_job_dict(job, [])
    assert "NOT RUN" not in answer.out


def test_show_tells_which_slots_were_not_run_newest_first(job: Job) -> None:
    for minutes in range(0, 44, 2):
        make_missed_range(job, NOON + timedelta(minutes=minutes), slots=2)
    endless = make_missed_range(job, NOON + timedelta(hours=1), reason="skipped", count=None)
    make_missed_range(make_job(), NOON + timedelta(hours=2))

    text = run_cli("job", "show", str(job.pk)).out
    ranges = run_cli("job", "show", str(job.pk), "--format", "json").json["missed_ranges"]

    assert len(ranges) == 20 and ranges[0] == missed_range_dict(endless)
    assert ranges[0]["count"] is None and ranges[0]["reason"] == "skipped"
    assert [found["last_slot_for"] for found in ranges[1:3]] == [
        "2026-01-02T12:43:00Z",
        "2026-01-02T12:41:00Z",
    ]
    titles, newest, second = text[text.index("NOT RUN") :].splitlines()[:3]
    assert titles.split() == ["NOT", "RUN", "FROM", "TO", "BECAUSE"]
    assert newest.startswith("more than 100,000 slots  2026-01-02T13:00:00Z")
    assert second.startswith("2 slots ") and second.endswith("the job was disabled")


def test_the_catalogue_lists_every_task_with_its_config() -> None:
    text, items = run_cli("job", "catalog").out, run_cli("job", "catalog", "--format", "json").json["items"]

    names = {item["name"] for item in items}
    assert {"sleep_for_seconds", "always_succeed", "always_fail", "generate_report"} <= names
    assert [name for name in names if name not in text] == []
    sleep = next(item for item in items if item["name"] == "sleep_for_seconds")
    assert [(field["name"], field["type"]) for field in sleep["config"]] == [("seconds", "number")]


def test_a_preview_shows_instants_local_times_and_notes() -> None:
    job = make_job(schedule_type="cron", schedule={"expression": "0 9 * * *"}, timezone="Europe/Paris")

    document = run_cli("job", "preview", str(job.pk), "--count", "3", "--format", "json").json

    assert list(document) == ["next", "description"] and len(document["next"]) == 3
    assert all(list(run) == ["at", "local", "note"] for run in document["next"])
    assert all(" 09:00:00 +0" in run["local"] for run in document["next"])
    assert document["next"][0]["at"] in run_cli("job", "preview", str(job.pk)).out


def test_a_preview_of_a_deleted_job_is_refused(job: Job) -> None:
    run_cli("job", "delete", str(job.pk), "--yes")

    answer = run_cli("job", "preview", str(job.pk))

    assert answer.code == 1 and "deleted" in answer.err


def test_trigger_queues_one_manual_run(job: Job) -> None:
    answer = run_cli("job", "trigger", str(job.pk))

    execution = Execution.objects.get(job=job)
    assert answer.out == f"execution {execution.pk} queued for job {job.pk} Nightly\n"
    assert (execution.trigger, execution.status) == ("manual", "pending")
    document = run_cli("job", "trigger", str(job.pk), "--format", "json").json
    assert (document["job_name"], document["trigger"]) == ("Nightly", "manual")


def test_disable_cancels_queued_rows_and_says_how_many(job: Job) -> None:
    run_cli("job", "trigger", str(job.pk))

    answer = run_cli("job", "disable", str(job.pk), "--why", "maintenance")

    assert answer.code == 0 and "cancelled: 1" in answer.out
    assert Execution.objects.get(job=job).status == "cancelled"
    assert JobVersion.objects.get(job=job, version=2).why == "maintenance"
    assert run_cli("job", "enable", str(job.pk), "--format", "json").json["enabled"] is True


def test_delete_needs_yes_and_keeps_the_history(job: Job) -> None:
    finished = make_execution(job)
    assert run_cli("job", "delete", str(job.pk)).code == 1

    answer = run_cli("job", "delete", str(job.pk), "--yes")

    assert answer.code == 0 and f"job {job.pk} deleted" in answer.out
    job.refresh_from_db()
    assert job.deleted_at is not None
    assert Execution.objects.filter(pk=finished.pk).exists()
    assert run_cli("job", "list", "--format", "json").json["items"] == []


def test_edit_changes_only_what_is_named(job: Job) -> None:
    before = job_dict(job)

    document = run_cli("job", "edit", str(job.pk), "--name", "Renamed", "--format", "json").json

    changed = {name for name, value in document.items() if value != before[name]}
    assert changed - {"updated_at"} == {"name", "version"}


def test_edit_of_the_schedule_and_of_its_type_moves_the_next_run(job: Job) -> None:
    words = ("job", "edit", str(job.pk), "--format", "json")

    assert run_cli(*words, "--every", "10m").json["schedule"] == {"every": "10m"}
    crossed = run_cli(
        *words, "--schedule-type", "cron", "--cron", "0 0 1 1 *", "--timezone", "Asia/Tokyo"
    ).json
    assert crossed["schedule"] == {"expression": "0 0 1 1 *"}
    assert crossed["next_run_at"].endswith("-12-31T15:00:00Z")


def test_edit_with_disabled_cancels_queued_rows_as_disable_does(job: Job) -> None:
    run_cli("job", "trigger", str(job.pk))

    assert run_cli("job", "edit", str(job.pk), "--disabled").code == 0

    assert Execution.objects.get(job=job).status == "cancelled"
    assert run_cli("job", "edit", str(job.pk), "--enabled", "--format", "json").json["enabled"] is True
