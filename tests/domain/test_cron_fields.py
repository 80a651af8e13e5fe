"""Cron text: what is accepted, what it means, what is refused and in which words."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_app.domain.cron_calendar import calendar_of
from scheduler_app.domain.cron_elements import FIELD_RULES, expand_plain
from scheduler_app.domain.cron_fields import CronFields, parse_fields
from scheduler_app.domain.schedule_text import values_in
from scheduler_app.errors import ScheduleError
from tests.domain.vectors import cron, read_vectors

INVALID = read_vectors("cron-invalid")
REFUSED_CASES = [
    case for case in read_vectors("schedule-cases") if case["kind"] == "cron" and not case["next_utc"]
]


@pytest.mark.parametrize("row", INVALID, ids=lambda row: row["id"])
def test_every_invalid_vector_is_refused_with_its_field_and_code(row: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError) as caught:
        cron(row["expression"], row["timezone"])
    assert (caught.value.field, caught.value.code) == (row["field"], row["code"])


@pytest.mark.parametrize("case", REFUSED_CASES, ids=lambda case: case["id"])
def test_every_case_that_must_be_refused_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError):
        cron(case["expression"], case["timezone"])


@pytest.mark.parametrize(
    ("expression", "field", "code", "words"),
    [
        ("60 * * * *", "minute", "out_of_range", "0 to 59"),
        ("* * * *", "expression", "field_count", "5 fields"),
        ("*/30 * * * * *", "expression", "field_count", "interval job serves seconds"),
        ("*/0 * * * *", "minute", "bad_step", "1 to 59"),
        ("*/90 * * * *", "minute", "bad_step", "interval"),
        ("0 0 31 2 *", "day_of_month", "impossible", "no occurrence found"),
        ("@reboot", "expression", "unknown_alias", "nothing runs at a reboot"),
        ("@every 5m", "expression", "unknown_alias", "interval job"),
        ("0 22-2 * * *", "hour", "bad_range", "22-23,0-2"),
        ("0 0 * * FRI-MON", "day_of_week", "bad_range", "5-6,0-1"),
        ("0 0 * * 7/2", "day_of_week", "bad_range", "ends at 6"),
        ("0 0 * * L5", "day_of_week", "unsupported", "5L"),
        ("0 0 L-3 * *", "day_of_month", "unsupported", "L for the last day"),
        ("CRON_TZ=UTC 0 0 * * *", "expression", "unsupported", "timezone"),
        ("005 * * * *", "minute", "syntax", "leading zeros"),
        ("567 * * * *", "minute", "out_of_range", "'567'"),
        ("0 0 * * 1#", "day_of_week", "syntax", "MON#1"),
        ("0 0 * * MON#6", "day_of_week", "out_of_range", "MON#6"),
        ("0 0 * * FUNL", "day_of_week", "unknown_name", "SUN to SAT"),
        ("0 0 * * 9L", "day_of_week", "out_of_range", "0 to 7"),
        ("0 0 ?,1 * *", "day_of_month", "syntax", "? alone"),
        ("1,,2 * * * *", "minute", "syntax", "1,,2"),
        ("*/007 * * * *", "minute", "syntax", "leading zeros"),
        ("0 0 * * 5@", "expression", "bad_character", "'@'"),
        ("0\xa00 * * *", "expression", "bad_character", "position 2"),
        ("0 0 W * *", "day_of_month", "unsupported", "1-31"),
        ("0 0 1 R *", "month", "unsupported", "repeatable"),
        ("99 99 99 99 99", "minute", "out_of_range", "minute"),
    ],
)
def test_a_refusal_names_field_value_and_way_out(expression: str, field: str, code: str, words: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        calendar_of(expression)
    assert (caught.value.field, caught.value.code) == (field, code)
    assert words in caught.value.message


@pytest.mark.parametrize("value", [None, 5, True, [], {}, b"* * * * *"])
def test_an_expression_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_fields(value)
    assert (caught.value.field, caught.value.code) == ("expression", "bad_type")


@pytest.mark.parametrize(
    ("expression", "same_as"),
    [
        ("  0\t0  12\t9 * ", "0 0 12 9 *"),
        ("05 00 01 01 00", "5 0 1 1 0"),
        ("@Daily", "0 0 * * *"),
        ("@WEEKLY", "0 0 * * SUN"),
        ("9-9 9-9 9-9 9-9 5-5", "9 9 9 9 5"),
        ("9-9/3 * * * *", "9 * * * *"),
        ("*,5 * * * *", "* * * * *"),
        ("59/7 23/5 31/2 12/3 6/4", "59 23 31 12 6"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * SAT-SUN", "0 0 * * 6,0"),
        ("0 0 * * mon-sun", "0 0 * * 0-6"),
        ("0 0 * * SUN-SUN", "0 0 * * 0"),
        ("0 0 * * 0-7", "0 0 * * *"),
        ("0 0 * * 5-7/2", "0 0 * * 5,0"),
        ("0 0 * * 3/2", "0 0 * * 3,5"),
        ("0 0 ? * ?", "0 0 * * *"),
        ("0 0 l * *", "0 0 L * *"),
        ("0 0 * * sunl", "0 0 * * 7L"),
        ("0 0 * * fri#1", "0 0 * * 5#1"),
        ("10,10,10-12 * * * *", "10-12 * * * *"),
    ],
)
def test_two_spellings_mean_the_same_sets(expression: str, same_as: str) -> None:
    assert sets_of(expression) == sets_of(same_as)


def test_a_day_must_match_both_fields_only_if_one_starts_with_a_star() -> None:
    both = {
        text: parse_fields(f"0 0 {text}").both_days
        for text in ("13 * 5", "*/2 * 1", "13 * */2", "? * 1", "1-31 * 5")
    }
    assert both == {"13 * 5": False, "*/2 * 1": True, "13 * */2": True, "? * 1": True, "1-31 * 5": False}


def test_every_hour_looks_at_the_set_and_not_at_the_spelling() -> None:
    hours = ("*", "*/1", "0-23", "0-11,12-23", "0/1", "*/2", "0-22", "9")
    answers = [parse_fields(f"0 {hour} * * *").every_hour for hour in hours]
    assert answers == [True] * 5 + [False] * 3
    assert parse_fields("@hourly").every_hour


@st.composite
def plain_elements(draw: st.DrawFn) -> tuple[int, str, set[int]]:
    """(field, canonical list, the values it names) with bounds as the reader hands them on."""
    index = draw(st.integers(0, 4))
    rule = FIELD_RULES[index]
    texts, values = [], set[int]()
    for _ in range(draw(st.integers(1, 4))):
        low = draw(st.integers(rule.low, rule.step_end))
        high = draw(st.integers(low, rule.high))
        step = draw(st.integers(1, rule.largest_step))
        texts.append(str(low) if low == high else f"{low}-{high}/{step}" if step > 1 else f"{low}-{high}")
        values |= set(range(low, high + 1, step))
    if rule.name == "day_of_week":
        values = {value % 7 for value in values}
    return index, ",".join(texts), values


@settings(deadline=None)
@given(plain_elements())
def test_expanding_a_checked_list_is_plain_counting(element: tuple[int, str, set[int]]) -> None:
    index, text, values = element
    assert set(values_in(expand_plain(FIELD_RULES[index], text))) == values


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet="0123456789*,-/?#LWHRjanSUN @\t", max_size=40))
def test_any_text_is_parsed_or_refused_with_one_fault(text: str) -> None:
    try:
        calendar_of(text)
    except ScheduleError as error:
        assert error.code
        assert error.field in {"expression", *(rule.name for rule in FIELD_RULES)}
        assert 10 < len(error.message) < 600


@pytest.mark.parametrize(
    "expression",
    [
        ",".join(f"{n}-59/1" for n in range(34)) + " * * * *",
        "* * " + ",".join(f"{n}/1" for n in range(1, 32)) + " * 0#1,1#2,2#3,3#4,4#5,5L",
        "0 0 31 2,4,6,9,11 " + ",".join("*" * 100),
        "0-59," * 48 + "1 * * * *",
        "9" * 250 + " * *",
        "x" * 1_000_000,
    ],
)
def test_no_expression_costs_more_than_an_instant(expression: str) -> None:
    started = time.monotonic()
    try:
        calendar_of(expression)
    except ScheduleError as error:
        assert len(error.message) < 600
    assert time.monotonic() - started < 1


def sets_of(expression: str) -> tuple[object, ...]:
    fields: CronFields = parse_fields(expression)
    return (
        fields.minutes,
        fields.hours,
        fields.days,
        fields.last_day,
        fields.months,
        fields.weekdays,
        fields.last_weekdays,
        fields.nth_weekdays,
    )
