"""Bytes to messages and back: size first, then JSON, then the shape its id names.

Both directions go through the same checks, so nothing is sent that a receiver would refuse, and
whatever arrives ends in a message or in a :class:`~fisk_ai.errors.ProtocolError`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from fisk_ai.a2a.events import BLOCKS, EventMessage, UnknownBlockEvent
from fisk_ai.a2a.header import Header
from fisk_ai.a2a.messages import EVENT_PREFIX, MESSAGES, AnyMessage, protocol_of
from fisk_ai.errors import MessageTooLargeError, ProtocolError

MESSAGE_LIMIT = 786_432
"""Bytes of one body: leaves headers room under the broker's usual 1 MiB."""

_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class _EventWire(Header, frozen=True, kw_only=True, tag=False):
    protocol: str
    block: Raw


_Members = dict[str, Raw]
_members = msgspec.json.Decoder(_Members)
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Peek:
    """What can be said of a body before it is judged."""

    protocol: str
    request: str


def encode(message: AnyMessage) -> bytes:
    """Return the bytes of ``message``, checked as its receiver will check them.

    Raises:
        MessageTooLargeError: over :data:`MESSAGE_LIMIT`.
        ProtocolError: the message breaks a rule of its own shape.
    """
    body = _to_bytes(message)
    if len(body) > MESSAGE_LIMIT:
        raise MessageTooLargeError(
            f"{protocol_of(message)} is {len(body)} bytes, over the {MESSAGE_LIMIT} byte limit",
            room_bytes=MESSAGE_LIMIT,
        )
    decode(body)
    return body


def decode(body: bytes, what: str = "the message") -> AnyMessage:
    """Return the message in ``body``; ``what`` is how an error calls it.

    Raises:
        MessageTooLargeError: over :data:`MESSAGE_LIMIT`; nothing was parsed.
        ProtocolError: no JSON object, an unknown id, or a message that breaks its shape.
    """
    if len(body) > MESSAGE_LIMIT:
        raise MessageTooLargeError(
            f"{what} is {len(body)} bytes, over the {MESSAGE_LIMIT} byte limit",
            room_bytes=MESSAGE_LIMIT,
        )
    try:
        return _decode(body)
    except msgspec.MsgspecError as exc:
        raise ProtocolError(f"{what} is not a valid v1 message: {exc}") from exc
    except (RecursionError, UnicodeDecodeError) as exc:
        raise ProtocolError(f"{what} is not a valid v1 message: it is no usable JSON") from exc
    except ProtocolError as exc:
        raise ProtocolError(f"{what} is not a valid v1 message: {exc}") from exc


def peek(body: bytes) -> Peek | None:
    """Return the id and the request of any JSON object, of any size; ``None`` for anything else."""
    try:
        members = _members.decode(_mended(body))
        return Peek(_text(members, "protocol"), _text(members, "request"))
    except _UNREADABLE:
        return None


def size_bytes(message: AnyMessage) -> int:
    """Return how large the body of ``message`` would be; nothing of it is checked.

    Raises:
        ProtocolError: it holds what JSON cannot carry.
    """
    return len(_to_bytes(message))


def written_bytes(text: str) -> int:
    """Return how many bytes of a body ``text`` takes: an escape is longer than what it stands for.

    It is the sum of what its characters take. ``text`` holds no half of a surrogate pair.
    """
    return len(_encoder.encode(text)) - len('""')


def _to_bytes(message: AnyMessage) -> bytes:
    try:
        if isinstance(message, EventMessage):
            return _encoder.encode(_wire_of(message))
        return _encoder.encode(message)
    except (msgspec.MsgspecError, UnicodeEncodeError) as exc:
        raise ProtocolError(f"a message holds what JSON cannot carry: {exc}") from exc


def _wire_of(message: EventMessage) -> _EventWire:
    block = message.block
    raw = block.raw if isinstance(block, UnknownBlockEvent) else _encoder.encode(block)
    return _EventWire(**_header_of(message), protocol=protocol_of(message), block=Raw(raw))


def _header_of(message: Header) -> dict[str, Any]:
    return {name: getattr(message, name) for name in Header.__struct_fields__}


def _decode(body: bytes) -> AnyMessage:
    mended = _mended(body)
    members = _members.decode(mended)
    protocol = _text(members, "protocol")
    if protocol.startswith(EVENT_PREFIX):
        return _decode_event(mended, protocol.removeprefix(EVENT_PREFIX))
    shape = MESSAGES.get(protocol)
    if shape is None:
        raise ProtocolError(f"unknown protocol {protocol[:200]!r}")
    foreign = sorted(shape.REFUSES & members.keys())
    if foreign:
        raise ProtocolError(f"{foreign[0]!r} has no place in {protocol}")
    return msgspec.json.decode(mended, type=shape)


def _decode_event(body: bytes, suffix: str) -> EventMessage:
    if not suffix or "." in suffix:
        raise ProtocolError(f"unknown protocol {(EVENT_PREFIX + suffix)[:200]!r}")
    wire = msgspec.json.decode(body, type=_EventWire)
    raw = bytes(wire.block)
    if not raw.startswith(b"{"):
        raise ProtocolError("the block of an event is an object")
    shape = BLOCKS.get(suffix)
    block = (
        UnknownBlockEvent(kind=suffix, raw=raw)
        if shape is None
        else msgspec.json.decode(raw, type=shape)
    )
    return EventMessage(**_header_of(wire), block=block)


def _text(members: _Members, name: str) -> str:
    raw = members.get(name)
    if raw is None:
        raise msgspec.ValidationError(f"Object missing required field `{name}`")
    return msgspec.json.decode(raw, type=str)


def _mended(body: bytes) -> bytes:
    """Replace escapes of half a surrogate pair, which no text can hold, by U+FFFD."""
    body.decode("utf-8")
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(_mend, body)


def _mend(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if match["lone"] else match[0]
