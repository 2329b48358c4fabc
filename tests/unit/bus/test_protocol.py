"""What a broker writes is read as it was written, wherever the network cuts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.bus.library import errors
from fisk_ai.bus.protocol import LINE_LIMIT_BYTES, Actions, Parser

Message = tuple[int, bytes, bytes, bytes, bytes]

_BLANKS = bytes.maketrans(b" \t\r\n", b"____")
words = st.binary(min_size=1, max_size=20).map(lambda word: word.translate(_BLANKS))
blobs = st.binary(max_size=40) | st.sampled_from(
    [b"9999\r\n", b"PING\r\n", b"\r\n", b"MSG a 1 5\r\n"]
)
messages = st.tuples(st.integers(1, 99), words, st.just(b"") | words, blobs, blobs)


def _reading(heard: list[object]) -> Parser:
    async def message(*parts: object) -> None:
        heard.append(parts)

    async def error(text: str) -> None:
        heard.append(text)

    async def info(said: dict[str, object]) -> None:
        heard.append(said)

    async def ping() -> None:
        heard.append("ping")

    async def pong() -> None:
        heard.append("pong")

    return Parser(Actions(message=message, error=error, info=info, ping=ping, pong=pong))


def _written(message: Message) -> bytes:
    sid, subject, reply, body, headers = message
    head = b" ".join(filter(None, (subject, b"%d" % sid, reply)))
    if headers:
        sizes = b"%d %d" % (len(headers), len(headers) + len(body))
        return b"HMSG %b %b\r\n%b%b\r\n" % (head, sizes, headers, body)
    return b"MSG %b %d\r\n%b\r\n" % (head, len(body), body)


@given(st.lists(messages, max_size=5), st.integers(1, 64))
async def test_every_message_arrives_as_it_was_sent(sent: list[Message], cut: int) -> None:
    heard: list[object] = []
    parser = _reading(heard)
    wire = b"".join(_written(message) for message in sent)

    for start in range(0, len(wire), cut):
        await parser.parse(wire[start : start + cut])

    assert heard == sent


async def test_lines_between_messages_are_obeyed_in_their_order() -> None:
    heard: list[object] = []

    await _reading(heard).parse(
        b"INFO {\"a\": 1}\r\nPING\r\nMSG s 1 0\r\n\r\n+OK\r\nPONG\r\n-ERR 'Stale \xff'\r\n"
    )

    assert heard == [{"a": 1}, "ping", (1, b"s", b"", b"", b""), "pong", "'stale \ufffd'"]


@pytest.mark.parametrize(
    "wire",
    [
        b"\r\n",
        b"ping\r\n",
        b"INFO " + b"[" * 60_000 + b"\r\n",
        b"MSG s 1\r\n",
        b"MSG s 1 r x 1\r\n",
        b"MSG s 1 1x\r\n",
        b"MSG s 1 99999999999\r\n",
        b"HMSG s 1 2 1\r\n",
        b"MSG s 1 1\r\nxyz",
        b"INFO x\r\n",
        b"INFO 1\r\n",
        b"A" * (LINE_LIMIT_BYTES + 1),
    ],
)
async def test_what_no_broker_writes_is_a_protocol_error(wire: bytes) -> None:
    heard: list[object] = []

    with pytest.raises(errors.ProtocolError):
        await _reading(heard).parse(wire)

    assert not heard


async def test_a_new_connection_begins_where_no_message_is_half_read() -> None:
    heard: list[object] = []
    parser = _reading(heard)
    await parser.parse(b"MSG s 1 100\r\nhalf")

    parser.reset()
    await parser.parse(b"PING\r\n")

    assert heard == ["ping"]
