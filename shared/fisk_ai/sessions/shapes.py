"""What each record holds, key by key: read, written and checked from these tables alone.

How one value is read is said in ``kinds``. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from fisk_ai.llm import blocks
from fisk_ai.llm.model import Message, ToolResultBlock
from fisk_ai.sessions.kinds import (
    INT64,
    UINT64,
    Key,
    Kind,
    read_flag,
    read_integer,
    read_keys,
    read_time,
    write_keys,
)
from fisk_ai.sessions.records import (
    Assistant,
    CallApproval,
    Claim,
    Decision,
    Deferred,
    Fingerprint,
    MemoryRevisions,
    Meta,
    Payload,
    Reason,
    Terminal,
    ToolKind,
    ToolResult,
    User,
)
from fisk_ai.text import clock, rawjson
from fisk_ai.text.gojson import RawJSON, loads, loads_string

MEMORY_KEY_LIMIT = 200
"""Longest memory key, in characters, that a snapshot of revisions may hold."""

_KINDS: tuple[str, ...] = get_args(ToolKind)
_REASONS: tuple[str, ...] = get_args(Reason)


@dataclass(frozen=True, slots=True)
class Shape:
    """A payload: the class that holds it and its keys in the order of the bytes."""

    holder: type
    keys: tuple[Key, ...]
    optional: bool = False


def _read_int64(raw: RawJSON) -> int:
    return read_integer(raw, INT64)


def _read_uint64(raw: RawJSON) -> int:
    return read_integer(raw, UINT64)


def _read_kind(raw: RawJSON) -> str:
    kind = loads_string(raw)
    return kind if kind in _KINDS or not kind else "unknown"


def _read_revisions(raw: RawJSON) -> dict[str, int]:
    return {key: _read_uint64(value) for key, value in rawjson.members(raw).items()}


def _sorted(value: Mapping[str, object]) -> dict[str, object]:
    return {key: value[key] for key in sorted(value)}


def _read_summary(raw: RawJSON) -> Mapping[str, object] | None:
    value = loads(raw)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _read_fingerprint(raw: RawJSON) -> Fingerprint:
    return Fingerprint(**read_keys(FINGERPRINT, rawjson.members(raw))[0])  # pyright: ignore[reportArgumentType] - types come from the table


def _write_fingerprint(value: Fingerprint) -> dict[str, object]:
    return write_keys(FINGERPRINT, value)


_STRING = {"type": "string"}
_MOMENT = _STRING | {"format": "date-time"}
_OBJECT = {"type": "object"}
_REVISION_MAP = _OBJECT | {
    "propertyNames": {"minLength": 1, "maxLength": MEMORY_KEY_LIMIT},
    "additionalProperties": {"type": "integer", "minimum": 1, "maximum": UINT64[-1]},
}

_TEXT = Kind(loads_string, "", _STRING)
_FLAG = Kind(read_flag, empty=False, schema={"type": "boolean"})
_INT = Kind(
    _read_int64,
    0,
    {"type": "integer", "minimum": INT64[0], "maximum": INT64[-1]},
    null_counts=True,
)
_TIME = Kind(read_time, clock.UNSET, _MOMENT)
_MESSAGE = Kind(blocks.message_from_json, Message("user", ()), _OBJECT, blocks.message_to_json)
_RESULT = Kind(
    blocks.tool_result_from_json, ToolResultBlock("", ""), _OBJECT, blocks.tool_result_to_json
)
_KIND = Kind(_read_kind, "", _STRING)
_REVISIONS = Kind(_read_revisions, {}, _REVISION_MAP, _sorted)
_SUMMARY = Kind(_read_summary, None, _OBJECT, dict)

FINGERPRINT = (
    Key("provider", _TEXT, kept=True),
    Key("model", _TEXT, kept=True),
    Key("system_hash", _TEXT, kept=True),
    Key("tools_hash", _TEXT, kept=True),
    Key("thinking_mode", _TEXT, kept=True),
    Key("reasoning_effort", _TEXT),
    Key("max_tokens", _INT, kept=True),
    Key("max_iterations", _INT, kept=True),
)
"""What a session was started with, inside its ``meta`` record."""

_PRINT = Kind(
    _read_fingerprint,
    Fingerprint(
        provider="",
        model="",
        system_hash="",
        tools_hash="",
        thinking_mode="",
        max_tokens=0,
        max_iterations=0,
    ),
    {"$ref": "session.common.json#/$defs/fingerprint"},
    _write_fingerprint,
)
_NUMBER: Mapping[str, object] = {"type": "integer", "minimum": 1, "maximum": UINT64[-1]}

ENVELOPE = (
    Key("seq", Kind(_read_uint64, 0, _NUMBER), required=True),
    Key("protocol", _TEXT, required=True),
    Key("optional", _FLAG),
    Key("time", Kind(read_time, "", _MOMENT)),
)
"""What stands around every payload."""

SHAPES: Mapping[str, Shape] = {
    "meta": Shape(
        Meta,
        (
            Key("version", _INT, required=True),
            Key("run_id", _TEXT, required=True),
            Key("created", _TIME, required=True),
            Key("fingerprint", _PRINT, required=True),
            Key("prompt", _TEXT, kept=True),
            Key("interactive", _FLAG),
            Key("conversation_token", _TEXT),
            Key("caller", _TEXT),
            Key("agent", _TEXT),
            Key("request", _TEXT),
        ),
    ),
    "assistant": Shape(
        Assistant,
        (
            Key("iteration", _INT, required=True),
            Key("message", _MESSAGE, required=True),
            Key("stop_reason", _TEXT),
            Key("in_tokens", _INT, required=True),
            Key("out_tokens", _INT, required=True),
            Key("cache_read_tokens", _INT),
            Key("cache_create_tokens", _INT),
            Key("thinking_tokens", _INT),
        ),
    ),
    "user": Shape(User, (Key("message", _MESSAGE, required=True), Key("request", _TEXT))),
    "tool_result": Shape(
        ToolResult,
        (
            Key("tool_use_id", _TEXT, required=True),
            Key("result", _RESULT, required=True),
            Key("remote", _FLAG),
            Key("kind", _KIND),
            Key("dispatched", _FLAG),
        ),
    ),
    "deferred": Shape(
        Deferred,
        (
            Key("tool_use_id", _TEXT, required=True),
            Key("tool_name", _TEXT, required=True),
            Key("note", _TEXT),
            Key("handle", _TEXT),
        ),
    ),
    "decision": Shape(Decision, (Key("tool", _TEXT, required=True),), optional=True),
    "call_approval": Shape(
        CallApproval,
        (
            Key("tool_use_id", _TEXT, required=True),
            Key("tool_name", _TEXT, required=True),
            Key("args_sha256", _TEXT),
        ),
        optional=True,
    ),
    "terminal": Shape(
        Terminal,
        (
            Key("reason", _TEXT, required=True, allowed=_REASONS),
            Key("message", _TEXT),
            Key("summary", _SUMMARY),
        ),
    ),
    "claim": Shape(Claim, (Key("by", _TEXT, required=True), Key("claimed", _TIME, required=True))),
    "memory_revisions": Shape(
        MemoryRevisions, (Key("revisions", _REVISIONS, required=True),), optional=True
    ),
}
"""Every payload by its key; ``optional`` ones may be skipped by a reader that knows none."""

SEGMENT_OF: Mapping[type, str] = {shape.holder: segment for segment, shape in SHAPES.items()}
"""The payload key of each record class."""


def read_payload(segment: str, raw: RawJSON) -> tuple[Payload, str]:
    """Read one payload and its fault; raises ValueError as :func:`read_keys`."""
    shape = SHAPES[segment]
    values, fault = read_keys(shape.keys, rawjson.members(raw))
    return cast("Payload", shape.holder(**values)), fault
