"""A streamed reply, put together again from the raw JSON of its events.

The whole message goes through the same codec as an unstreamed one, so nobody downstream can tell
them apart. Only what a delta adds to is rebuilt; every other member keeps the text it came in.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass, field
from typing import Final, Literal

from fisk_ai.llm import fields
from fisk_ai.llm.anthropic.codec import message_members, stop_reason, tells_error
from fisk_ai.llm.anthropic.failures import ApiError, read_failure
from fisk_ai.llm.model import Delta
from fisk_ai.text import rawjson
from fisk_ai.text.gojson import RawJSON

EVENT_LIMIT_BYTES: Final = 32 * 1024 * 1024
"""The API takes no larger request, so no event that could ever be sent back is larger."""

_NO_FIELD: Final = (b"{", b"[", b"<")
"""No line of a stream begins like this: such a body is JSON or a page."""

_DONE: Final = [b"[DONE]"]
"""How servers of another API end a stream; some send it here, too."""

_TEXT_DELTAS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
_SHOWN: Final[dict[str, Literal["text", "thinking"]]] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
}


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


async def events(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each server-sent event.

    A body that is none of a stream is one event: an error, a web page, or the whole message from a
    server that streams nothing.

    Raises:
        ValueError: an event is over the limit.
    """
    data: list[bytes] = []
    is_first = True
    lines = _lines(chunks)
    async for line in lines:
        if is_first and line.lstrip()[:1] in _NO_FIELD:
            yield await _whole(line, lines)
            return
        is_first = is_first and not line.strip()
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            if data != _DONE:
                yield b"\n".join(data)
            data = []


async def _whole(line: bytes, lines: AsyncIterable[bytes]) -> bytes:
    body = bytearray(line)
    async for more in lines:
        body += b"\n" + more
        _require_bounded(body)
    return bytes(body)


async def _lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    # Only line feeds end a line here: str.splitlines() would also cut at U+2028 inside a text.
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        _require_bounded(waiting)
        if b"\n" not in chunk:
            continue
        *lines, waiting = waiting.split(b"\n")
        for line in lines:
            yield bytes(line.removesuffix(b"\r"))
    if waiting.strip():
        yield bytes(waiting)


def _require_bounded(event: bytearray) -> None:
    if len(event) > EVENT_LIMIT_BYTES:
        raise ValueError(f"an event is over {EVENT_LIMIT_BYTES} bytes")


_ADDED_TO: Final[dict[str, tuple[str, ...]]] = {
    "text_delta": ("text",),
    "citations_delta": ("text",),
    "thinking_delta": ("thinking",),
    "signature_delta": ("thinking",),
}
"""The kinds of blocks that a fragment may add to; input is added to whatever else there is."""

_BREAK_OFF: Final = frozenset({"refusal", "pause_turn"})
"""Reasons for which a reply may stop in the middle of a call, which then was never made."""

_OWN_DELTAS: Final = frozenset({"text", "thinking"})


@dataclass(slots=True)
class _OpenBlock:
    members: dict[str, RawJSON]
    added: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    input_json: list[str] = field(default_factory=list[str])
    shown: Literal["text", "thinking"] | None = None
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
        wanted = _ADDED_TO.get(delta_kind)
        is_input = delta_kind == "input_json_delta"
        is_misplaced = wanted is not None and kind not in wanted
        if self.is_closed or is_misplaced or (is_input and kind in _OWN_DELTAS):
            state = "is closed" if self.is_closed else f"is of type {kind}"
            raise ValueError(f"a content block {state} and got a {delta_kind}")

    def raw(self, *, is_cut: bool) -> RawJSON:
        """Return the block's JSON.

        Input that a token limit cut in two stays empty: the calls of such a reply are never run.
        Any other input that is no JSON is refused, since a tool would act on the empty one.
        """
        for key, parts in self.added.items():
            self.members[key] = _spelled("".join(parts))
        written = self._written()
        if written and _is_object(written):
            self.members["input"] = RawJSON(written.encode())
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
        if kind == "input_json_delta":
            block.input_json.append(_literal(delta, "partial_json"))
            return None
        key = _TEXT_DELTAS.get(kind)
        if key is None:
            return None  # citations: the neutral text carries none
        text = _literal(delta, key)
        block.add(key, text)
        block.shown = block.shown or _SHOWN.get(kind)
        shown = _SHOWN.get(kind)
        fragment = block.show(text) if shown else ""
        return Delta(index, shown, fragment) if shown and fragment else None

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
