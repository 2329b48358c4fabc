"""The conversation's own JSON: what a journal stores.

A block is an object with one key, its kind. Keys keep the order written here, and what is empty
or false is left out where the format says so. Tool input and provider blocks are embedded as the
JSON text they arrived in. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from fisk_ai.llm import rawjson
from fisk_ai.llm.model import (
    Block,
    Message,
    ProviderBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.text.gojson import RawJSON

ROLES: Final[tuple[Role, ...]] = ("user", "assistant")


def message_to_json(message: Message) -> dict[str, object]:
    """Return the message as a dictionary for ``gojson.dumps``."""
    return {
        "role": message.role,
        "content": [block_to_json(block) for block in message.content],
    }


def message_from_json(raw: bytes | str) -> Message:
    """Read a message back; unknown keys are ignored.

    Raises:
        ValueError: not a message; the text names the content block.
    """
    fields = rawjson.members(raw)
    content: list[Block] = []
    for index, item in enumerate(rawjson.elements(fields.get("content", "null"))):
        try:
            content.append(block_from_json(item))
        except ValueError as exc:
            raise ValueError(f"content block {index}: {exc}") from exc
    return Message(_role(fields.get("role", "null")), tuple(content))


def block_to_json(block: Block) -> dict[str, object]:
    """Return one block as a dictionary for ``gojson.dumps``."""
    match block:
        case TextBlock():
            return {"text": {"text": block.text}}
        case ThinkingBlock():
            return {"thinking": _thinking(block)}
        case ToolUseBlock():
            fields = {"id": block.id, "name": block.name, "input": RawJSON(block.input)}
            return {"tool_use": fields}
        case ToolResultBlock():
            return {"tool_result": tool_result_to_json(block)}
        case ProviderBlock():
            return {"provider": {"kind": block.kind, "raw": RawJSON(block.raw)}}


def block_from_json(raw: bytes | str) -> Block:
    """Read one block back.

    Raises:
        ValueError: none or several of the known kinds are present, or a field has a wrong type.
    """
    fields = rawjson.members(raw)
    present = [kind for kind in _READERS if fields.get(kind, "null") != "null"]
    if len(present) != 1:
        found = ", ".join(present) or "none"
        raise ValueError(f"a block holds exactly one kind of content, found {found}")
    (kind,) = present
    try:
        return _READERS[kind](rawjson.members(fields[kind]))
    except ValueError as exc:
        raise ValueError(f"{kind}: {exc}") from exc


def tool_result_to_json(block: ToolResultBlock) -> dict[str, object]:
    """Return the fields of a tool result, without the key of its kind."""
    fields: dict[str, object] = {"tool_use_id": block.tool_use_id, "content": block.content}
    if block.is_error:
        fields["is_error"] = True
    return fields


def tool_result_from_json(raw: bytes | str) -> ToolResultBlock:
    """Read the fields of a tool result back; ValueError when one has a wrong type."""
    return _read_tool_result(rawjson.members(raw))


def _thinking(block: ThinkingBlock) -> dict[str, object]:
    fields: dict[str, object] = {}
    if block.text:
        fields["text"] = block.text
    if block.signature:
        fields["signature"] = base64.b64encode(block.signature).decode("ascii")
    return fields


def _role(raw: str) -> Role:
    name = rawjson.string(raw)
    for role in ROLES:
        if role == name:
            return role
    raise ValueError(f"a message is of the user or the assistant, not of {name!r}")


def _text(fields: dict[str, str], key: str) -> str:
    try:
        return rawjson.string(fields.get(key, "null"))
    except ValueError as exc:
        raise ValueError(f"{key}: {exc}") from exc


def _read_text(fields: dict[str, str]) -> Block:
    return TextBlock(_text(fields, "text"))


def _read_thinking(fields: dict[str, str]) -> Block:
    encoded = _text(fields, "signature")
    try:
        signature = binascii.a2b_base64(encoded, strict_mode=True) if encoded else b""
    except binascii.Error as exc:
        raise ValueError("signature is not base64") from exc
    return ThinkingBlock(_text(fields, "text"), signature)


def _read_tool_use(fields: dict[str, str]) -> Block:
    return ToolUseBlock(
        _text(fields, "id"), _text(fields, "name"), rawjson.packed(fields.get("input", "{}"))
    )


def _read_tool_result(fields: dict[str, str]) -> ToolResultBlock:
    return ToolResultBlock(
        _text(fields, "tool_use_id"),
        _text(fields, "content"),
        rawjson.boolean(fields.get("is_error", "null")),
    )


def _read_provider(fields: dict[str, str]) -> Block:
    return ProviderBlock(_text(fields, "kind"), rawjson.packed(fields.get("raw", "null")))


_READERS: Final[dict[str, Callable[[dict[str, str]], Block]]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "tool_use": _read_tool_use,
    "tool_result": _read_tool_result,
    "provider": _read_provider,
}
