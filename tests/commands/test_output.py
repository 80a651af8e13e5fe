"""What is printed: tables for people, plain text for pipes, nothing a terminal would obey."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.management.base import OutputWrapper

from scheduler_app.management.output import Output, visible

HOSTILE = "\x1b]0;owned\x07[red]x[/red]\u202egnp\r"


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def _output(stdout: StringIO) -> Output:
    return Output(stdout=OutputWrapper(stdout), stderr=OutputWrapper(StringIO()))


def test_a_pipe_gets_aligned_columns_and_nothing_else() -> None:
    piped = StringIO()

    _output(piped).table(("id", "name"), [(1, "a"), (22, None)])

    assert piped.getvalue() == "ID  NAME\n1   a\n22  -\n"


def test_a_terminal_gets_a_drawn_table_with_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    drawn = _Terminal()

    _output(drawn).table(("id", "name"), [(1, "[red]not markup[/red]")])

    assert "[red]not markup[/red]" in drawn.getvalue()
    assert "─" in drawn.getvalue()


@pytest.mark.parametrize("stream", [StringIO, _Terminal])
def test_no_control_character_of_a_row_reaches_the_screen(
    stream: type[StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = stream()

    _output(shown).table(("name",), [(HOSTILE,)])

    assert not {"\x07", "\r", "\u202e"} & set(shown.getvalue())
    assert "\x1b]" not in shown.getvalue()
    assert "[red]x[/red]" in shown.getvalue()


def test_breaks_stay_in_blocks_and_are_spelled_in_cells() -> None:
    assert visible("a\nb\tc") == "a\\nb\\tc"
    assert visible("a\nb\tc", lines=True) == "a\nb\tc"


def test_words_of_any_language_stay_as_they_are() -> None:
    assert visible("Täglicher Bericht 日報 👩‍💻") == "Täglicher Bericht 日報 👩‍💻"


def test_a_screen_that_cannot_show_a_sign_gets_its_number_instead_of_an_error() -> None:
    raw = BytesIO()
    narrow = TextIOWrapper(raw, encoding="ascii", write_through=True)
    output = Output(stdout=OutputWrapper(narrow), stderr=OutputWrapper(StringIO()))

    output.line("Täglich")
    output.document({"name": "Täglich"})

    assert raw.getvalue() == b'T\\xe4glich\n{\n  "name": "T\\u00e4glich"\n}\n'
