"""Which local minutes an expression names, without any zone."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_app.domain.cron_calendar import DAY, calendar_of
from scheduler_app.errors import ScheduleError

EPOCH = date(1970, 1, 1)


def minute_of(day: date, minute: int = 0) -> int:
    return (day - EPOCH).days * DAY + minute


def dates_of(expression: str, year: int) -> list[date]:
    """The dates of a year on which the expression names midnight."""
    days = (date(year, 1, 1) + timedelta(days=n) for n in range(366))
    return [day for day in days if day.year == year and calendar_of(expression).names(minute_of(day))]


def test_the_last_day_follows_the_month() -> None:
    assert dates_of("0 0 L * *", 2024) == [date(2024, m, monthrange(2024, m)[1]) for m in range(1, 13)]


@pytest.mark.parametrize("year", [2023, 2024, 2025, 2100])
def test_nth_and_last_weekdays_are_those_of_a_wall_calendar(year: int) -> None:
    fridays = [[day for day in dates_of("0 0 * * 5", year) if day.month == month] for month in range(1, 13)]
    assert dates_of("0 0 * * 5L", year) == [days[-1] for days in fridays]
    for n in range(1, 6):
        assert dates_of(f"0 0 * * FRI#{n}", year) == [days[n - 1] for days in fridays if len(days) >= n]


def test_either_day_field_is_enough_unless_one_starts_with_a_star() -> None:
    either = dates_of("0 0 13 * 5", 2024)
    assert either == sorted({*dates_of("0 0 13 * *", 2024), *dates_of("0 0 * * 5", 2024)})
    both = dates_of("0 0 */2 * 1", 2024)
    assert both == [day for day in dates_of("0 0 * * 1", 2024) if day.day % 2]


@pytest.mark.parametrize(
    "expression",
    ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 */31 * 1#2", "0 0 */15 * 1#2", "0 0 31 2 */7", "0 0 */30 2 1#5"],
)
def test_an_expression_without_any_date_is_impossible(expression: str) -> None:
    with pytest.raises(ScheduleError, match="no date ever matches") as caught:
        calendar_of(expression)
    assert (caught.value.code, caught.value.field) == ("impossible", "day_of_month")


@pytest.mark.parametrize(
    "expression",
    ["0 0 29 2 *", "0 0 29 2 */7", "0 0 * 2 1#5", "0 0 31 2 1-5", "0 0 */7 * 1#5", "0 0 30 2,3 *"],
)
def test_an_expression_with_a_rare_date_is_possible(expression: str) -> None:
    assert calendar_of(expression).has_a_day()


DAY_FIELDS = st.tuples(
    st.sampled_from(["*", "*/7", "*/31", "29", "30,31", "L", "1-7", "?"]),
    st.sampled_from(["*", "2", "4,6", "1", "2,12"]),
    st.sampled_from(["*", "1", "*/3", "0#5", "6L", "1#1,3#5", "?"]),
).map(lambda texts: "7 5 " + " ".join(texts))


@settings(max_examples=120, deadline=None)
@given(DAY_FIELDS)
def test_impossible_is_said_exactly_when_no_year_holds_a_date(fields: str) -> None:
    """Any 28 years without an omitted leap day hold all 14 shapes of a year."""
    try:
        calendar = calendar_of(fields)
    except ScheduleError as error:
        assert error.code == "impossible"
        _, _, day, month, weekday = fields.split()
        assert not any(
            written_out(date(1973, 1, 1) + timedelta(days=n), day, month, weekday) for n in range(10_300)
        )
    else:
        assert calendar.next_minute(minute_of(date(1973, 1, 1))) is not None


@settings(max_examples=150, deadline=None)
@given(DAY_FIELDS, st.integers(minute_of(date(1973, 1, 1)), minute_of(date(2198, 1, 1))))
def test_next_previous_and_count_fit_together(fields: str, minute: int) -> None:
    try:
        calendar = calendar_of(fields)
    except ScheduleError:
        return
    following = calendar.next_minute(minute)
    if following is None:
        assert minute > minute_of(date(2150, 1, 1))
        return
    assert following >= minute
    assert calendar.previous_minute(following) == following
    assert calendar.count(minute, following) == 0
    assert calendar.count(minute, following + 1) == 1
    assert calendar.count(following, minute) == 0
    earlier = calendar.previous_minute(minute - 1)
    assert earlier is None or (earlier < minute and calendar.next_minute(earlier + 1) == following)


def test_the_calendar_ends_on_both_sides() -> None:
    calendar = calendar_of("0 0 29 2 *")
    assert calendar.next_minute(minute_of(date(2196, 3, 1))) is None
    assert calendar.previous_minute(minute_of(date(1972, 2, 28))) is None


def written_out(day: date, day_text: str, month_text: str, weekday_text: str) -> bool:
    """Whether a date matches, by a reading of the few texts above that shares nothing with the engine."""
    last = monthrange(day.year, day.month)[1]
    dates = {
        "*": True,
        "?": True,
        "*/7": day.day % 7 == 1,
        "*/31": day.day == 1,
        "29": day.day == 29,
        "30,31": day.day >= 30,
        "L": day.day == last,
        "1-7": day.day <= 7,
    }
    weekday, nth = day.isoweekday() % 7, (day.day + 6) // 7
    weekdays = {
        "*": True,
        "?": True,
        "1": weekday == 1,
        "*/3": weekday in (0, 3, 6),
        "0#5": (weekday, nth) == (0, 5),
        "6L": weekday == 6 and day.day + 7 > last,
        "1#1,3#5": (weekday, nth) in ((1, 1), (3, 5)),
    }
    months = {
        "*": True,
        "2": day.month == 2,
        "4,6": day.month in (4, 6),
        "1": day.month == 1,
        "2,12": day.month in (2, 12),
    }
    both = day_text[0] in "*?" or weekday_text[0] in "*?"
    by_day = dates[day_text] and weekdays[weekday_text] if both else dates[day_text] or weekdays[weekday_text]
    return months[month_text] and by_day
