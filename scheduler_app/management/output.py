"""What commands print: data on stdout, talk on stderr; tables for people, aligned plain text when piped.

With `--format json` stdout is exactly one JSON document. Text out of the database is shown without the
control characters a terminal would obey, and never interpreted as markup.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TextIO

from django.core.management.base import OutputWrapper

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
Stream = OutputWrapper | TextIO


def visible(text: object, *, lines: bool = False) -> str:
    """Text with control characters spelled out; with `lines`, breaks and tabs stay as they are."""
    spelled = _OBEYED.sub(lambda found: f"\\x{ord(found.group()):02x}", str(text))
    return spelled if lines else spelled.replace("\n", "\\n").replace("\t", "\\t")


class Output:
    """Where one command writes to, and in which form."""

    def __init__(self, *, stdout: Stream, stderr: Stream, as_json: bool = False, colour: bool = True) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._colour = colour
        self.as_json = as_json

    def document(self, value: object) -> None:
        """The one JSON document."""
        try:
            self._stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
        except UnicodeEncodeError:
            self._stdout.write(json.dumps(value, indent=2) + "\n")

    def line(self, text: str = "") -> None:
        """One line of data for people; the caller makes foreign text `visible`."""
        _write(self._stdout, text)

    def note(self, text: str) -> None:
        """One line of talk, on stderr."""
        _write(self._stderr, text)

    def fields(self, values: Mapping[str, object]) -> None:
        """Names and values under each other; None shows as a dash."""
        width = max(len(name) for name in values)
        for name, value in values.items():
            self.line(f"{name.ljust(width)}  {_cell(value)}")

    def block(self, title: str, text: str) -> None:
        """A titled, indented piece of foreign text; nothing when it is empty."""
        if text.strip():
            self.line(f"  {title}:")
            for part in visible(text, lines=True).rstrip("\n").split("\n"):
                self.line(f"    {part}")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows under column titles: drawn for a terminal, aligned text for a pipe or file."""
        cells = [[_cell(value) for value in row] for row in rows]
        if self._stdout.isatty():
            self.line(_drawn(columns, cells, colour=self._colour))
            return
        widths = [max([len(title), *(len(row[at]) for row in cells)]) for at, title in enumerate(columns)]
        for row in [[title.upper() for title in columns], *cells]:
            self.line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict | list):
        return visible(json.dumps(value, ensure_ascii=False))
    return visible(value)


def _drawn(columns: Sequence[str], cells: Sequence[Sequence[str]], *, colour: bool) -> str:
    # rich takes a tenth of a second to load, which scripts that ask for JSON or pipe need not wait for.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for title in columns:
        table.add_column(title, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    drawn = StringIO()
    width = shutil.get_terminal_size().columns
    Console(file=drawn, force_terminal=True, no_color=None if colour else True, width=width).print(table)
    return drawn.getvalue().rstrip("\n")


def _write(stream: Stream, text: str) -> None:
    try:
        stream.write(f"{text}\n")
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
