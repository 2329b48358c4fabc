"""Blocks on the Anthropic wire and in the neutral conversation.

Named blocks are rebuilt from the keys the API accepts, so keys that only a reply carries never go
back. Everything else is a provider block and goes back exactly as it came: the typed models of an
SDK add and drop fields, and a signed or cached block must not change. Table:
``docs/reference/llm.md``.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from fisk_ai.llm import deep, fields
from fisk_ai.llm.anthropic.failures import ApiError, read_failure
from fisk_ai.llm.model import (
    Block,
    Message,
    ProviderBlock,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from fisk_ai.llm.usage import believed
from fisk_ai.text import gojson, rawjson
from fisk_ai.text.gojson import RawJSON, compact
from fisk_ai.text.typename import a_type

_NO_MESSAGE: Final = "the API answered something that is no message"
_NO_INPUT: Final = b"{}"
"""The input of a call without arguments; the API takes an object back and nothing else."""

_LIKELY_JSON: Final = re.compile(rb'[{\["]')


def block_to_wire(block: Block) -> object:
    """Return a block as the API takes it, for ``gojson.dumps``.

    Raises:
        ValueError: a provider block that holds no block, or something that is none of ours.
    """
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ThinkingBlock():
            signature = block.signature.decode("utf-8", "replace")
            return {"type": "thinking", "thinking": block.text, "signature": signature}
        case ToolUseBlock():
            arguments = RawJSON(block.input if block.input.startswith(b"{") else _NO_INPUT)
            call = {"id": block.id, "name": block.name, "input": arguments}
            return {"type": "tool_use", **call}
        case ToolResultBlock():
            return {
                "type": "tool_result",
                "tool_use_id": block.tool_use_id,
                "content": [{"type": "text", "text": block.content}],
                "is_error": block.is_error,
            }
        case ProviderBlock():
            _kind(rawjson.members(block.raw))
            return RawJSON(block.raw)
        case _:
            raise ValueError(f"{a_type(block)} is no content block")


def message_to_wire(message: Message) -> dict[str, object]:
    """Return a message as the API takes it; ValueError names the content block."""
    content: list[object] = []
    for index, block in enumerate(message.content):
        with _placed(index):
            content.append(block_to_wire(block))
    return {"role": message.role, "content": content}


def block_from_wire(raw: bytes | str) -> Block:
    """Read one content block.

    Raises:
        ValueError: no object, no ``type``, or a known field of a wrong type.
    """
    found = rawjson.members(raw)
    kind = _kind(found)
    match kind:
        case "text":
            return TextBlock(fields.string(found, "text"))
        case "thinking":
            signature = fields.string(found, "signature").encode("utf-8")
            return ThinkingBlock(fields.string(found, "thinking"), signature)
        case "tool_use":
            return _tool_use(found)
        case _:
            result = _tool_result(found) if kind == "tool_result" else None
            return result or _provider_block(kind, _packed(raw))


def message_members(raw: bytes | str) -> dict[str, RawJSON]:
    """Cut what should be a message, or an event of one, into its members.

    Raises:
        ValueError: it is no JSON object; says what it is instead.
    """
    try:
        return rawjson.members(raw)
    except ValueError as exc:
        body = raw if isinstance(raw, bytes) else raw.encode(errors="replace")
        raise ValueError(f"{_NO_MESSAGE}, but {_likeness(body.strip())}") from exc


def response_from_wire(raw: bytes | str) -> Response:
    """Read a whole reply.

    Raises:
        ApiError: it is an error, whatever the status it came with.
        ValueError: it is no message; the text says why or names the content block.
    """
    found = message_members(raw)
    if tells_error(found):
        raise ApiError(read_failure(200, raw if isinstance(raw, bytes) else raw.encode()))
    _require_message(found)
    return Response(
        content=tuple(_content(found)),
        stop_reason=stop_reason(found),
        usage=_usage(fields.members(found, "usage")),
        id=fields.string(found, "id"),
        model=fields.string(found, "model"),
    )


def _require_message(found: fields.Fields) -> None:
    """Refuse what would otherwise look like a model that had nothing to say."""
    needed = ("content",) if fields.elements(found, "content") else ("content", "stop_reason")
    missing = [key for key in needed if not fields.present(found, key)]
    if not fields.present(found, "role") and not fields.present(found, "type"):
        missing.append("role")
    if missing:
        raise ValueError(f"{_NO_MESSAGE}: it has no {' and no '.join(missing)}")


def tells_error(found: fields.Fields) -> bool:
    """Say whether an object is of the API's error form."""
    if fields.present(found, "content"):
        return False
    return found.get("type") == b'"error"' or fields.present(found, "error")


def stop_reason(found: fields.Fields) -> str:
    """Return why a reply ended; the window that is full cuts it as the token limit does."""
    reason = fields.string(found, "stop_reason")
    return "max_tokens" if reason == "model_context_window_exceeded" else reason


def _content(found: fields.Fields) -> Iterator[Block]:
    for index, item in enumerate(fields.elements(found, "content")):
        with _placed(index):
            yield block_from_wire(item)


@contextmanager
def _placed(index: int) -> Generator[None]:
    """Say in an error which content block it is about."""
    try:
        yield
    except ValueError as exc:
        raise ValueError(f"content block {index}: {exc}") from exc


def _kind(found: fields.Fields) -> str:
    kind = fields.string(found, "type")
    if not kind:
        raise ValueError("a content block has no type")
    return kind


def _likeness(body: bytes) -> str:
    if not body:
        return "an empty body"
    if body.startswith(b"<"):
        return "a web page"
    try:
        gojson.loads(body)
    except UnicodeDecodeError:
        return "bytes that are not UTF-8"
    except ValueError as exc:
        if isinstance(exc.__cause__, RecursionError):
            return "JSON that is nested too deeply to be read"
        return "JSON that is damaged or cut off" if _LIKELY_JSON.match(body) else "plain text"
    return "JSON that is no object"


def _packed(raw: bytes | str) -> bytes:
    return compact(raw.encode("utf-8") if isinstance(raw, str) else bytes(raw))


def _tool_use(found: fields.Fields) -> Block:
    return ToolUseBlock(
        fields.string(found, "id"),
        fields.string(found, "name"),
        fields.packed(found, "input") if fields.present(found, "input") else _NO_INPUT,
    )


def _provider_block(kind: str, raw: bytes) -> ProviderBlock:
    if deep.is_too_deep(raw):
        raise ValueError(
            f"a block of type {kind} is nested more than {deep.DEPTH_LIMIT} levels deep"
        )
    return ProviderBlock(kind, raw)


def _tool_result(found: fields.Fields) -> ToolResultBlock | None:
    """Return a result of exactly one text; any other shape is the provider's own."""
    try:
        items = fields.elements(found, "content")
        inner = rawjson.members(items[0]) if len(items) == 1 else {}
    except ValueError:
        return None
    if fields.string(inner, "type") != "text":
        return None
    return ToolResultBlock(
        fields.string(found, "tool_use_id"),
        fields.string(inner, "text"),
        fields.boolean(found, "is_error"),
    )


def _usage(found: Mapping[str, RawJSON]) -> Usage:
    details = fields.members(found, "output_tokens_details")
    return believed(
        Usage(
            input=fields.count(found, "input_tokens"),
            output=fields.count(found, "output_tokens"),
            cache_read=fields.count(found, "cache_read_input_tokens"),
            cache_create=fields.count(found, "cache_creation_input_tokens"),
            thinking=fields.count(details, "thinking_tokens"),
        )
    )
