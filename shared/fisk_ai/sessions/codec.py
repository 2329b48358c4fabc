"""A record as bytes: byte for byte what the other implementation writes, and tolerant to read.

Readers accept any key order, unknown keys and white space. Writers leave nothing to a reader's
tolerance: what was encoded is read back before it counts. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from typing import cast

from fisk_ai.errors import CorruptError, UnwritableError
from fisk_ai.sessions import kinds, shapes
from fisk_ai.sessions.records import Assistant, MemoryRevisions, Meta, Payload, Record
from fisk_ai.text import rawjson
from fisk_ai.text.gojson import RawJSON, dumps

NAMESPACE = "io.choria.fisk-ai.v1.session."
"""Prefix of every record's protocol; the payload's key follows."""

NESTING_LIMIT = 400
"""Deepest JSON that is written: readers recurse, and may start from a fuller stack than ours."""


def protocol_of(payload: Payload) -> str:
    """Return the protocol id of a payload."""
    return NAMESPACE + key_of(payload)


def key_of(payload: Payload) -> str:
    """Return the key a payload stands under, such as ``tool_result``."""
    return shapes.SEGMENT_OF[type(payload)]


def is_known(protocol: str) -> bool:
    """Say whether this release knows what a record of that protocol means."""
    return protocol.removeprefix(NAMESPACE) in shapes.SHAPES and protocol.startswith(NAMESPACE)


def record_of(seq: int, payload: Payload, *, time: str = "") -> Record:
    """Wrap a payload; records that a reader may skip are marked so."""
    shape = shapes.SHAPES[key_of(payload)]
    return Record(
        seq=seq,
        protocol=protocol_of(payload),
        optional=shape.optional,
        time=time,
        payload=payload,
    )


def encode(record: Record) -> bytes:
    """Return the record's bytes, without a newline.

    Raises:
        UnwritableError: the record breaks its own rules; a bug of the caller.
    """
    if record.payload is None:
        raise UnwritableError(f"record {record.seq} has no payload to write")
    key = key_of(record.payload)
    try:
        body = dumps(_envelope(record, key, record.payload))
        fault = decode(body).fault or _broken_rule(record) or _too_deep(body)
    except (CorruptError, ValueError, AttributeError, TypeError) as exc:
        raise UnwritableError(f"record {record.seq} ({key}) cannot be written: {exc}") from exc
    if fault:
        raise UnwritableError(f"record {record.seq} ({key}) cannot be written: {fault}")
    return body


def decode(line: bytes) -> Record:
    """Read one record; bytes that are not UTF-8 become U+FFFD.

    Raises:
        CorruptError: not one JSON object, or a value of the wrong type.
    """
    text = line.decode(errors="replace").strip(" \t\r\n")
    if text == "null":
        return Record(seq=0, protocol="", payload=None)
    try:
        return _read(rawjson.members(text))
    except ValueError as exc:
        raise CorruptError(f"no record can be read: {exc}") from exc


def _envelope(record: Record, key: str, payload: Payload) -> dict[str, object]:
    envelope = kinds.write_keys(shapes.ENVELOPE, record)
    return envelope | {key: kinds.write_keys(shapes.SHAPES[key].keys, payload)}


def _broken_rule(record: Record) -> str:
    if record.seq < 1 or isinstance(record.payload, Meta) is not (record.seq == 1):
        return "a meta record is number 1 and no other is"
    if record.payload is not None and record.protocol != protocol_of(record.payload):
        return f"its protocol is {record.protocol}"
    if isinstance(record.payload, Assistant):
        return _broken_count(record.payload)
    if isinstance(record.payload, MemoryRevisions):
        return _broken_revision(record.payload)
    return ""


def _broken_count(reply: Assistant) -> str:
    counts = (
        reply.iteration,
        reply.in_tokens,
        reply.out_tokens,
        reply.cache_read_tokens,
        reply.cache_create_tokens,
        reply.thinking_tokens,
    )
    return "a count is negative" if min(counts) < 0 else ""


def _too_deep(body: bytes) -> str:
    is_deep = rawjson.is_deeper(body, NESTING_LIMIT)
    return f"its JSON is nested more than {NESTING_LIMIT} levels deep" if is_deep else ""


def _broken_revision(payload: MemoryRevisions) -> str:
    for key, revision in payload.revisions.items():
        if not 1 <= len(key) <= shapes.MEMORY_KEY_LIMIT:
            return (
                f"a memory key has {len(key)} characters instead of 1 to {shapes.MEMORY_KEY_LIMIT}"
            )
        if revision < 1:
            return "a memory revision is below 1"
    return ""


def _read(members: dict[str, RawJSON]) -> Record:
    values, _ = kinds.read_keys(shapes.ENVELOPE, members)
    payload, fault = _read_payload(cast("str", values["protocol"]), members)
    return Record(**values, payload=payload, fault=fault)  # pyright: ignore[reportArgumentType] - types come from the table


def _read_payload(protocol: str, members: dict[str, RawJSON]) -> tuple[Payload | None, str]:
    segment = protocol.removeprefix(NAMESPACE)
    raw = members.get(segment, kinds.NULL)
    if raw == kinds.NULL or not is_known(protocol):
        return None, ""
    try:
        return shapes.read_payload(segment, raw)
    except ValueError as exc:
        raise ValueError(f"{segment}.{exc}") from exc
