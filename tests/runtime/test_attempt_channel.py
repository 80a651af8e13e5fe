"""Messages over a stream: whole or not at all, and the sender never waits."""

from __future__ import annotations

import socket
import struct

import pytest

from scheduler_app.runtime.attempt_channel import BrokenStream, Channel, MessageBuffer, encode


def pair() -> tuple[Channel, Channel]:
    left, right = socket.socketpair()
    return Channel(left), Channel(right)


def test_messages_arrive_whole_and_in_order() -> None:
    left, right = pair()
    left.send({"n": 1})
    left.send({"n": 2, "text": "\ud800\x00"})

    assert right.receive() == [{"n": 1}, {"n": 2, "text": "\ud800\x00"}]
    assert right.receive() == [] and not right.closed


def test_a_message_split_into_single_bytes_is_put_together() -> None:
    buffer = MessageBuffer()
    found = [message for byte in encode({"a": [1, 2]}) for message in buffer.feed(bytes([byte]))]

    assert found == [{"a": [1, 2]}]


def test_a_reader_that_stands_still_does_not_block_the_sender() -> None:
    left, right = pair()
    for number in range(2_000):
        left.send({"number": number, "padding": "x" * 1_000})
    assert left.wants_to_write

    received = []
    while left.wants_to_write:
        received += right.receive()
        left.flush()
    received += right.receive()
    assert [message["number"] for message in received] == list(range(2_000))


def test_the_end_of_the_other_side_is_seen_after_its_last_message() -> None:
    left, right = pair()
    left.send({"last": True})
    left.close()

    assert right.receive() == [{"last": True}]
    assert right.closed
    right.send({"to": "nobody"})
    assert not right.wants_to_write


@pytest.mark.parametrize(
    "stream",
    [
        struct.pack("!I", 2**31),
        struct.pack("!I", 3) + b"{]}",
        struct.pack("!I", 2) + b"[]",
        struct.pack("!I", 9) + b'{"a":NaN}',
    ],
    ids=["length", "not JSON", "not an object", "NaN"],
)
def test_a_stream_that_is_not_ours_is_told(stream: bytes) -> None:
    with pytest.raises(BrokenStream):
        MessageBuffer().feed(stream)


def test_what_json_cannot_hold_is_refused_before_it_is_queued() -> None:
    left, right = pair()
    for bad in (object(), float("nan")):
        with pytest.raises((TypeError, ValueError)):
            left.send({"bad": bad})
    left.send({"good": 1})

    assert right.receive() == [{"good": 1}]
