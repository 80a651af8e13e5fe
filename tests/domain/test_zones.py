"""Zone names and the one source of their rules."""

from __future__ import annotations

import subprocess
import sys
import time
import zoneinfo
from datetime import UTC, datetime
from pathlib import Path

import pytest
import tzdata

from scheduler_app.domain.zones import check_zone, known_zones, load_zone, pin_zone_data, tzdata_release
from scheduler_app.errors import ScheduleError


def test_places_are_known_and_machinery_is_not() -> None:
    zones = known_zones()
    assert {"UTC", "Europe/Paris", "Europe/Kiev", "Europe/Kyiv", "Etc/GMT+5", "EST5EDT"} <= zones
    assert not {"localtime", "Factory", "posixrules"} & zones
    assert len(zones) > 590


def test_every_known_zone_can_be_loaded() -> None:
    assert {load_zone(name).key for name in known_zones()} == known_zones()


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "Mars/Olympus",
        "EST5",
        "EST5EDT,M3.2.0",
        "GMT+5",
        "UTC+2",
        "+02:00",
        "UTC\n",
        "UTC\x00",
        "Europe/Paris\x00/../../etc/passwd",
        "../UTC",
        "../../etc/passwd",
        "/etc/localtime",
        "/usr/share/zoneinfo/UTC",
        "posix/UTC",
        "Europe",
        "localtime",
        "Factory",
        "\udcff",
        "zone.tab",
        "tzdata.zi",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    assert refusal(name).code == "unknown_zone"
    assert refusal(name).field == "timezone"


@pytest.mark.parametrize("value", [None, 5, True, [], {}, b"UTC"])
def test_a_name_that_is_no_text_is_refused(value: object) -> None:
    assert refusal(value).code == "bad_type"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("america/los_angeles", "America/Los_Angeles"),
        ("America/New York", "America/New_York"),
        ("America/New_Yrok", "America/New_York"),
        ("utc", "UTC"),
        (" Europe/Paris ", "Europe/Paris"),
    ],
)
def test_a_near_miss_is_answered_with_the_name_that_was_meant(name: str, meant: str) -> None:
    assert f"did you mean {meant}?" in refusal(name).message


def test_an_offset_is_answered_with_the_zone_of_that_kind() -> None:
    assert "Etc/GMT-2" in refusal("+02:00").message


def test_a_huge_name_is_refused_at_once_with_a_short_message() -> None:
    started = time.monotonic()
    error = refusal("America/" + "x" * 1_000_000)
    assert time.monotonic() - started < 1
    assert len(error.message) < 300


def test_a_refused_name_never_reaches_the_file_system() -> None:
    known_zones()
    opened: list[object] = []
    listening = True

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event in ("open", "os.listdir", "os.scandir"):
            opened.append(arguments)

    sys.addaudithook(listen)
    for name in ("../../etc/passwd", "UTC\x00", "/etc/localtime", "Europe/../UTC"):
        refusal(name)
        with pytest.raises(ScheduleError):
            load_zone(name)
    listening = False
    assert opened == []


def test_the_release_of_the_package_is_told() -> None:
    assert tzdata_release() == tzdata.IANA_VERSION


def test_after_pinning_no_path_of_the_system_is_read() -> None:
    pin_zone_data()
    assert zoneinfo.TZPATH == ()


def test_system_zone_files_that_differ_change_nothing(tmp_path: Path) -> None:
    """Vancouver stays on -07:00 from November 2026 in the package's data; older system data says -08:00."""
    utc_as_vancouver = Path(tzdata.__file__).parent / "zoneinfo" / "UTC"
    (tmp_path / "America").mkdir()
    (tmp_path / "America" / "Vancouver").write_bytes(utc_as_vancouver.read_bytes())
    program = (
        "import zoneinfo; zone = zoneinfo.ZoneInfo('America/Vancouver');"
        "from datetime import datetime, UTC;"
        "assert datetime(2026, 7, 1, tzinfo=UTC).astimezone(zone).utcoffset().total_seconds() == 0;"
        "from scheduler_app.domain.occurrences import compile_schedule;"
        "nine = compile_schedule(schedule_type='cron', schedule={'expression': '0 9 * * *'},"
        " timezone='America/Vancouver');"
        "print(nine.next(datetime(2026, 10, 31, 20, tzinfo=UTC)).isoformat())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONTZPATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.stdout.strip() == "2026-11-01T16:00:00+00:00", answer.stderr


def test_vancouver_keeps_its_summer_offset_in_the_data_in_use() -> None:
    at = datetime(2026, 11, 1, 16, tzinfo=UTC)
    assert at.astimezone(load_zone("America/Vancouver")).hour == 9


def refusal(name: object) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        check_zone(name)
    return caught.value
