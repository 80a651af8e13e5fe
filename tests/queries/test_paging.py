"""A cursor leads exactly one page on, and nothing but a cursor is taken for one."""

from __future__ import annotations

import base64

import pytest

from scheduler_app.errors import ValidationFailed
from scheduler_app.queries.paging import (
    MAX_ID,
    MAX_PAGE_ITEMS,
    check_limit,
    decode_cursor,
    encode_cursor,
    page_of,
)


@pytest.mark.parametrize("before_id", [1, 25, 10**9, MAX_ID])
def test_a_cursor_comes_back_as_the_id_it_was_made_of(before_id: int) -> None:
    assert decode_cursor(encode_cursor(before_id)) == before_id


def test_a_cursor_says_nothing_in_plain_words() -> None:
    assert "before" not in encode_cursor(25) and "25" not in encode_cursor(25)


def _spelled(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "made_up",
    [
        "",
        "x",
        "made-up",
        "25",
        "é",
        "\x00",
        "\udcff",
        "=" * 8,
        "A" * 100_000,
        _spelled("before:0"),
        _spelled("before:-5"),
        _spelled("before: 5"),
        _spelled("before:5_0"),
        _spelled("before:٣"),
        _spelled("after:5"),
        _spelled("5"),
        _spelled(f"before:{2**63}"),
        encode_cursor(5) + "=",
        encode_cursor(5) + "\n",
    ],
)
def test_a_made_up_cursor_is_a_field_error(made_up: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        decode_cursor(made_up)

    assert [error.field for error in refused.value.errors] == ["cursor"]


@pytest.mark.parametrize("limit", [0, -1, MAX_PAGE_ITEMS + 1, 10**12])
def test_a_page_size_out_of_range_is_a_field_error_with_the_range(limit: int) -> None:
    with pytest.raises(ValidationFailed, match=f"from 1 to {MAX_PAGE_ITEMS}") as refused:
        check_limit(limit)

    assert refused.value.errors[0].field == "limit"


def test_the_row_too_many_only_says_that_there_is_more() -> None:
    page = page_of([30, 20, 10], 2, int)

    assert page.items == [30, 20]
    assert page.next == encode_cursor(20)


def test_the_last_page_has_no_cursor() -> None:
    assert page_of([30, 20], 2, int).next is None
