"""A streamed reply, put together again from the raw JSON of its events.

The whole message goes through the same codec as an unstreamed one, so nobody downstream can tell
them apart. Only what a delta adds to is rebuilt; every other member keeps the text it came in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final, Literal

from fisk_ai.llm import deep, fields
from fisk_ai.llm.anthropic.codec import message_members, stop_reason, tells_error
from fisk_ai.llm.anthropic.failures import ApiError, read_failure
from fisk_ai.llm.model import Delta
from fisk_ai.text import rawjson
from fisk_ai.text.gojson import RawJSON

_Shown = Literal["text", "thinking"]


@dataclass(frozen=True, slots=True)
class _Fragment:
    """What a kind of fragment adds to: the type of its block, the member, and what is shown."""

    block: str
    member: str = ""
    shown: _Shown | None = None


_FRAGMENTS: Final = {
    "text_delta": _Fragment("text", "text", "text"),
    "citations_delta": _Fragment("text"),
    "thinking_delta": _Fragment("thinking", "thinking", "thinking"),
    "signature_delta": _Fragment("thinking", "signature"),
}
"""Input is added to whatever other block there is; the neutral text carries no citations."""

_INPUT: Final = "input_json_delta"
_WITHOUT_INPUT: Final = frozenset(fragment.block for fragment in _FRAGMENTS.values())

_EVENTS: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
"""What has its place in a stream; pings and events of a later API may stand anywhere."""

_BREAK_OFF: Final = frozenset({"refusal", "pause_turn"})
"""Reasons for which a reply may stop in the middle of a call, which then was never made."""


@dataclass(slots=True)
class _OpenBlock:
    members: dict[str, RawJSON]
    added: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    input_json: list[str] = field(default_factory=list[str])
    shown: _Shown | None = None
    half: str = ""
    is_closed: bool = False

    def add(self, key: str, text: str) -> None:
        self.added.setdefault(key, [_literal(self.members, key)]).append(text)

    def show(self, text: str) -> str:
        """Return what can be shown now: half a character waits for its other half."""
        text = self.half + text
        self.half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _paired(text.removesuffix(self.half))

    def require_takes(self, delta_kind: str) -> None:
        """Refuse a fragment of another kind of block: what is made of both was never written."""
        kind = fields.string(self.members, "type")
        fragment = _FRAGMENTS.get(delta_kind)
        is_misplaced = fragment is not None and kind != fragment.block
        is_input = delta_kind == _INPUT
        if self.is_closed or is_misplaced or (is_input and kind in _WITHOUT_INPUT):
            state = "is closed" if self.is_closed else f"is of type {kind}"
            raise ValueError(f"a content block {state} and got a {delta_kind}")

    def raw(self, *, is_cut: bool) -> RawJSON:
        """Return the block's JSON.

        Input that a token limit cut in two stays empty: the calls of such a reply are never run.
        Any other input that is no JSON is refused, since a tool would act on the empty one; what is
        too deep to be read stands as left out, which no tool is given.
        """
        for key, parts in self.added.items():
            self.members[key] = _spelled("".join(parts))
        written = self._written()
        if written and (_is_object(written) or deep.is_too_deep(written.encode())):
            self.members["input"] = RawJSON(deep.kept(written.encode()))
        elif written and not is_cut:
            raise ValueError("the input of a call is no JSON object")
        return _joined(self.members)

    def is_whole(self) -> bool:
        """Say whether the input of a call, if it is one, came to its end."""
        written = self._written()
        return not written or _is_object(written)

    def _written(self) -> str:
        return _paired("".join(self.input_json)).strip()


@dataclass(slots=True)
class Assembly:
    """Takes events in order; afterwards holds the message, if all of it came."""

    _message: dict[str, RawJSON] = field(default_factory=dict[str, RawJSON])
    _usage: dict[str, RawJSON] = field(default_factory=dict[str, RawJSON])
    _blocks: dict[int, _OpenBlock] = field(default_factory=dict[int, _OpenBlock])
    _is_begun: bool = False
    _is_complete: bool = False
    _unstreamed: bytes = b""

    def take(self, event: bytes) -> Delta | None:
        """Take one event; return the fragment that may be shown.

        Raises:
            ValueError: the event is not of the protocol.
            ApiError: the event says that the API failed.
        """
        found = message_members(event)
        if tells_error(found):
            raise ApiError(read_failure(0, event))
        kind = fields.string(found, "type")
        self._require_place(kind)
        match kind:
            case "message_start":
                self._message = fields.members(found, "message")
                self._usage = fields.members(self._message, "usage")
                self._is_begun = True
            case "content_block_start":
                self._open_block(found)
            case "content_block_delta":
                return self._add(found)
            case "content_block_stop":
                return self._close_block(found)
            case "message_delta":
                self._finish(found)
            case "message_stop":
                self._is_complete = True
            case "message":
                self._unstreamed = event
            case _:
                return None  # pings, and events of a later API
        return None

    def message(self) -> bytes:
        """Return the JSON of the whole reply; ValueError when the stream ended before it did."""
        if self._unstreamed:
            return self._unstreamed
        if not self._is_complete or not self._message:
            raise ValueError("the stream ended before the reply did")
        if not all(block.is_closed for block in self._blocks.values()):
            raise ValueError("the reply ended inside a content block")
        reason = stop_reason(self._message)
        kept = [self._blocks[index] for index in sorted(self._blocks)]
        if reason in _BREAK_OFF:
            kept = [block for block in kept if block.is_whole()]
        blocks = [block.raw(is_cut=reason == "max_tokens") for block in kept]
        content = RawJSON(b"[" + b",".join(blocks) + b"]")
        return _joined(self._message | {"content": content, "usage": _joined(self._usage)})

    def _require_place(self, kind: str) -> None:
        """Refuse an event that cannot stand where it does: half of two replies is none."""
        if kind not in _EVENTS:
            return
        if self._is_complete:
            raise ValueError(f"the stream went on behind its end with a {kind}")
        if self._is_begun is (kind == "message_start"):
            where = "twice" if self._is_begun else f"with a {kind}"
            raise ValueError(f"the stream began {where}")

    def _open_block(self, found: fields.Fields) -> None:
        index = fields.integer(found, "index")
        if index in self._blocks:
            raise ValueError(f"content block {index} was started twice")
        self._blocks[index] = _OpenBlock(fields.members(found, "content_block"))

    def _block(self, found: fields.Fields) -> tuple[int, _OpenBlock]:
        index = fields.integer(found, "index")
        block = self._blocks.get(index)
        if block is None:
            raise ValueError(f"content block {index} was never started")
        return index, block

    def _add(self, found: fields.Fields) -> Delta | None:
        index, block = self._block(found)
        delta = fields.members(found, "delta")
        kind = fields.string(delta, "type")
        block.require_takes(kind)
        if kind == _INPUT:
            block.input_json.append(_literal(delta, "partial_json"))
            return None
        fragment = _FRAGMENTS.get(kind)
        if fragment is None or not fragment.member:
            return None
        text = _literal(delta, fragment.member)
        block.add(fragment.member, text)
        if fragment.shown is None:
            return None
        block.shown = fragment.shown
        shown = block.show(text)
        return Delta(index, fragment.shown, shown) if shown else None

    def _close_block(self, found: fields.Fields) -> Delta | None:
        index, block = self._block(found)
        block.is_closed = True
        return Delta(index, block.shown, _paired(block.half), final=True) if block.shown else None

    def _finish(self, found: fields.Fields) -> None:
        self._message |= fields.members(found, "delta")
        news = fields.members(found, "usage")
        self._usage |= {key: value for key, value in news.items() if fields.present(news, key)}


def _literal(found: fields.Fields, key: str) -> str:
    """Return a string with its surrogates: the other half of a pair may be in the next delta."""
    if not fields.present(found, key):
        return ""
    value: object = json.loads(found[key])
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a string")
    return value


def _paired(text: str) -> str:
    """Join the halves of surrogate pairs that came in two fragments; one without its other goes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_object(text: str) -> bool:
    try:
        rawjson.members(text)
    except ValueError:
        return False
    return True


def _spelled(text: str) -> RawJSON:
    return RawJSON(json.dumps(text).encode())


def _joined(found: fields.Fields) -> RawJSON:
    pairs = (_spelled(key) + b":" + value for key, value in found.items())
    return RawJSON(b"{" + b",".join(pairs) + b"}")
