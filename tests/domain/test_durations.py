"""Texts and objects that say how long an interval is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_app.domain.durations import LONGEST_SECONDS, format_every, parse_every
from scheduler_app.errors import ScheduleError


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1s", 1),
        ("30s", 30),
        ("5m", 300),
        ("2h", 7_200),
        ("1d", 86_400),
        ("90m", 5_400),
        ("36525d", LONGEST_SECONDS),
        ({"minutes": 5}, 300),
        ({"hours": 1, "minutes": 30}, 5_400),
        ({"days": 1, "seconds": 1}, 86_401),
        ({"seconds": 30, "minutes": 0}, 30),
    ],
)
def test_accepted_forms_give_whole_seconds(value: object, seconds: int) -> None:
    assert parse_every(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "5",
        "5x",
        "m",
        "5 m",
        " 5m",
        "5m\n",
        "1.5m",
        "1h30m",
        "5M",
        "٣m",
        "+5m",
        "1e3s",
        "9" * 13 + "s",
    ],
)
def test_an_unreadable_text_is_refused_with_the_accepted_forms(value: str) -> None:
    assert refusal(value) == ("syntax", "every")
    with pytest.raises(ScheduleError, match="30s, 5m, 2h or 1d"):
        parse_every(value)


@pytest.mark.parametrize(
    "value", ["0s", "0d", "00m", "-5m", {"minutes": 0}, {"minutes": -5}, {"hours": -1, "minutes": 90}]
)
def test_less_than_a_second_is_refused(value: object) -> None:
    assert refusal(value) == ("out_of_range", "every")


@pytest.mark.parametrize("value", ["36526d", "999999999999d", {"days": 36_526}, {"seconds": 10**30}])
def test_more_than_a_hundred_years_is_refused(value: object) -> None:
    assert refusal(value) == ("out_of_range", "every")


@pytest.mark.parametrize(
    "value", [None, 5, 5.0, True, [], ["5m"], {"minutes": "5"}, {"minutes": 5.0}, {"minutes": True}]
)
def test_a_wrong_type_is_refused(value: object) -> None:
    assert refusal(value) == ("bad_type", "every")


@pytest.mark.parametrize("value", [{"minuts": 5}, {"weeks": 1}, {5: 5}])
def test_an_unknown_key_is_refused_by_name(value: dict[object, object]) -> None:
    with pytest.raises(ScheduleError, match=repr(next(iter(value)))) as caught:
        parse_every(value)
    assert caught.value.code == "unknown_key"


def test_an_empty_object_is_refused() -> None:
    assert refusal({}) == ("syntax", "every")


def test_the_message_says_at_least_one_second() -> None:
    with pytest.raises(ScheduleError, match="'0s' must be at least 1 second"):
        parse_every("0s")


@given(st.integers(1, LONGEST_SECONDS))
def test_a_formatted_interval_is_read_back(seconds: int) -> None:
    assert parse_every(format_every(seconds)) == seconds


def test_the_largest_unit_that_fits_is_used() -> None:
    assert [format_every(seconds) for seconds in (30, 300, 90, 7_200, 86_400, 129_600, 0)] == [
        "30s",
        "5m",
        "90s",
        "2h",
        "1d",
        "36h",
        "0s",
    ]


def refusal(value: object) -> tuple[str, str]:
    with pytest.raises(ScheduleError) as caught:
        parse_every(value)
    return caught.value.code, caught.value.field
