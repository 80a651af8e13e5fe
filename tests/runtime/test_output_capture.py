"""Captured text: bounded, whole where it fits, readable where it was cut, storable always."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler_app.runtime.output_capture import (
    MAX_STORED_CHARACTERS,
    CapturedStream,
    CapturedText,
    clean,
    compose_error,
    shorten,
)


def captured(*pieces: bytes, limit: int = MAX_STORED_CHARACTERS) -> CapturedStream:
    stream = CapturedStream(limit)
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    return stream


def test_text_that_fits_is_kept_whole() -> None:
    assert (
        captured(b"one\n", b"two\r\n\ttab \x1b[31mred\x1b[0m").text()
        == "one\ntwo\r\n\ttab \x1b[31mred\x1b[0m"
    )


def test_a_character_cut_by_two_reads_is_not_damaged() -> None:
    euro = "€".encode()
    assert captured(euro[:1], euro[1:2], euro[2:]).text() == "€"


def test_a_character_cut_by_the_end_of_the_stream_is_shown_as_replaced() -> None:
    assert captured("€".encode()[:2]).text() == "\ufffd"


def test_control_characters_and_surrogates_are_replaced_one_for_one() -> None:
    assert clean("a\x00b\x07c\ud800d\x7f") == "a\ufffdb\ufffdc\ufffdd\ufffd"


def test_a_cut_text_keeps_head_and_tail_and_tells_how_much_is_gone() -> None:
    text = shorten("a" * 30_000 + "z" * 30_000)

    assert len(text) <= MAX_STORED_CHARACTERS
    assert text.startswith("aaa") and text.endswith("zzz")
    kept = text.count("a") - "characters cut here".count("a") + text.count("z")
    assert f"\n[... {60_000 - kept:,} of 60,000 characters cut here ...]\n" in text


def test_text_of_exactly_the_limit_is_not_cut() -> None:
    assert shorten("x" * MAX_STORED_CHARACTERS) == "x" * MAX_STORED_CHARACTERS


@given(st.lists(st.binary(max_size=60), max_size=12), st.integers(min_value=0, max_value=300))
def test_whatever_comes_in_the_text_is_storable_and_within_the_limit(pieces: list[bytes], limit: int) -> None:
    text = captured(*pieces, limit=limit).text()

    assert len(text) <= limit
    assert clean(text) == text
    text.encode()


@given(st.lists(st.text(max_size=50), max_size=10))
def test_the_count_of_characters_is_exact(pieces: list[str]) -> None:
    kept = CapturedText(20)
    for piece in pieces:
        kept.add(piece)

    assert kept.characters == sum(map(len, pieces))


def test_an_error_without_failure_is_stderr_alone() -> None:
    assert compose_error(captured(b"a warning\n"), "") == "a warning\n"


def test_an_error_puts_the_failure_behind_stderr_on_a_line_of_its_own() -> None:
    assert compose_error(captured(b"no newline"), "Traceback") == "no newline\nTraceback"
    assert compose_error(captured(b"newline\n"), "Traceback") == "newline\nTraceback"
    assert compose_error(captured(), "Traceback") == "Traceback"


@given(st.integers(min_value=0, max_value=60_000), st.integers(min_value=1, max_value=60_000))
def test_the_end_of_a_failure_is_always_kept(stderr_length: int, failure_length: int) -> None:
    error = compose_error(captured(b"s" * stderr_length), "f" * failure_length + "THE END")

    assert len(error) <= MAX_STORED_CHARACTERS
    assert error.endswith("THE END")
    if stderr_length:
        assert error.startswith("s")


def test_a_short_failure_leaves_its_room_to_stderr() -> None:
    error = compose_error(captured(b"s" * 60_000), "short")

    assert len(error) == MAX_STORED_CHARACTERS
