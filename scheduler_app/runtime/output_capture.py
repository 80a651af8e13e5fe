"""Turns what a task printed into text that every database and page can hold.

Promises: memory stays flat at any amount of output; the kept text has at most 20,000 characters including a
mark that tells how many were cut; it holds no NUL, no lone surrogate and no control character that a page
could not show. Bad bytes are replaced visibly and never lose the good ones around them.
"""

from __future__ import annotations

import codecs
import re

MAX_STORED_CHARACTERS = 20_000
HEAD_SHARE = 0.4
REPLACEMENT = "\ufffd"

# Control characters except tab, newline, carriage return and escape (colours), and lone surrogates.
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff]")


def clean(text: str) -> str:
    """The same text, each character that cannot be stored or shown replaced by U+FFFD; same length."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def shorten(text: str, limit: int = MAX_STORED_CHARACTERS) -> str:
    """At most `limit` characters of a text that is held whole: its head, a mark, its tail."""
    kept = CapturedText(limit)
    kept.add(text)
    return kept.text()


class CapturedText:
    """Keeps the head and the tail of a stream of text and counts the rest."""

    def __init__(self, limit: int = MAX_STORED_CHARACTERS) -> None:
        self._limit = limit
        self._head = ""
        self._tail = ""
        self.characters = 0

    def add(self, text: str) -> None:
        """Take the next piece; memory stays at twice the limit."""
        self.characters += len(text)
        room = self._limit - len(self._head)
        if room > 0:
            self._head += text[:room]
        if len(text) >= self._limit:
            self._tail = text[-self._limit :]
        else:
            self._tail = (self._tail + text)[-self._limit :]

    def text(self, limit: int | None = None) -> str:
        """What is kept, cleaned, in at most `limit` characters (default: the limit of this capture)."""
        limit = self._limit if limit is None else min(limit, self._limit)
        if self.characters <= limit:
            return clean(self._head)
        mark = _mark(self.characters - limit, self.characters)
        room = limit - len(_mark(self.characters, self.characters))
        if room < 2:
            return mark.strip()[: max(limit, 0)]
        head_length = int(room * HEAD_SHARE)
        tail_length = room - head_length
        mark = _mark(self.characters - room, self.characters)
        return clean(self._head[:head_length] + mark + self._tail[-tail_length:])


class CapturedStream(CapturedText):
    """A captured pipe: bytes in, decoded as UTF-8 across the borders of reads, bad bytes replaced."""

    def __init__(self, limit: int = MAX_STORED_CHARACTERS) -> None:
        super().__init__(limit)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.add(self._decoder.decode(data))

    def finish(self) -> None:
        """No more bytes will come: a cut character at the very end becomes visible."""
        self.add(self._decoder.decode(b"", final=True))


def compose_error(stderr: CapturedText, failure: str, limit: int = MAX_STORED_CHARACTERS) -> str:
    """What the attempt wrote to stderr, then why it failed; the tail of the failure is always kept.

    A failure may take all the room that stderr leaves free, and two thirds of it in any case. An attempt that
    succeeded has no failure: its stderr stands alone, because warnings of a good run are worth reading too.
    """
    if not failure:
        return stderr.text(limit)
    if not stderr.characters:
        return shorten(failure, limit)
    separator = "\n"
    room = limit - len(separator)
    for_failure = max(room - stderr.characters, room * 2 // 3)
    told = shorten(failure, for_failure)
    printed = stderr.text(room - len(told))
    return printed + ("" if printed.endswith("\n") else separator) + told


def _mark(cut: int, total: int) -> str:
    return f"\n[... {cut:,} of {total:,} characters cut here ...]\n"
