"""Refused values in messages."""

from __future__ import annotations

from scheduler_app.domain.quoting import shown


def test_a_long_text_is_cut_and_its_length_told() -> None:
    text = shown("x" * 1_000_000)
    assert text.endswith("(1000000 characters)")
    assert len(text) < 100


def test_control_characters_and_lone_surrogates_are_escaped() -> None:
    assert shown("a\x00\x1b[2J\n\udcff") == r"'a\x00\x1b[2J\n\udcff'"


def test_other_values_are_shown_briefly() -> None:
    assert [shown(value) for value in (5, None, True, [1] * 10**5)] == [
        "5",
        "None",
        "True",
        "a value of type list",
    ]
    assert len(shown(10**4000)) < 100
