"""JSON messages over a stream, each behind its length, without ever blocking the sender.

What the other side does not take yet waits in memory; the owner of the channel watches `wants_to_write`. The
same framing carries the record a child writes to its result pipe.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import cast

Message = dict[str, object]

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_LENGTH = struct.Struct("!I")
_READ_BYTES = 256 * 1024


class BrokenStream(Exception):
    """The stream does not hold our messages: a length out of bounds, or no JSON object behind it."""


def encode(message: Message) -> bytes:
    """One message as bytes. Raises TypeError, ValueError or RecursionError for what JSON cannot hold."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {len(body):,} bytes is longer than {MAX_MESSAGE_BYTES:,}")
    return _LENGTH.pack(len(body)) + body


class MessageBuffer:
    """Cuts a stream of bytes into messages."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages completed by these bytes. Raises BrokenStream."""
        self._bytes += data
        messages: list[Message] = []
        while len(self._bytes) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._bytes)
            if length > self._limit:
                raise BrokenStream(f"a message claims {length:,} bytes")
            end = _LENGTH.size + length
            if len(self._bytes) < end:
                break
            messages.append(_decode(bytes(self._bytes[_LENGTH.size : end])))
            del self._bytes[:end]
        return messages


def _decode(body: bytes) -> Message:
    try:
        message = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BrokenStream("a message is not JSON") from error
    if not isinstance(message, dict):
        raise BrokenStream("a message is not a JSON object")
    return cast(Message, message)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


class Channel:
    """One end of a connected socket pair. `closed` turns true when the other end is gone."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._incoming = MessageBuffer()
        self._outgoing = bytearray()
        self.closed = False

    def fileno(self) -> int:
        """The descriptor to select on."""
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        """Whether bytes wait for the other side to read."""
        return bool(self._outgoing) and not self.closed

    def send(self, message: Message) -> None:
        """Queue a message and pass on what the other side takes now. Raises as encode() does."""
        self._outgoing += encode(message)
        self.flush()

    def flush(self) -> None:
        """Pass on what the other side takes now."""
        while self.wants_to_write:
            try:
                sent = self._socket.send(self._outgoing)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.closed = True
                return
            del self._outgoing[:sent]

    def receive(self) -> list[Message]:
        """All messages that have arrived. A broken or ended stream sets `closed`."""
        messages: list[Message] = []
        while True:
            try:
                data = self._socket.recv(_READ_BYTES)
            except (BlockingIOError, InterruptedError):
                return messages
            except OSError:
                data = b""
            if not data:
                self.closed = True
                return messages
            try:
                messages += self._incoming.feed(data)
            except BrokenStream:
                self.closed = True
                return messages

    def close(self) -> None:
        """Close this end; the other one reads its end of file."""
        self.closed = True
        self._socket.close()
