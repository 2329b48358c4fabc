"""The conversation's own JSON: what a journal stores.

A block is an object with one key, its kind. Keys keep the order written here, and what is empty
or false is left out where the format says so. Tool input and provider blocks are embedded as the
JSON text they arrived in. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final

from fisk_ai.llm import fields
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
from fisk_ai.text import rawjson
from fisk_ai.text.gojson import RawJSON
from fisk_ai.text.sanitise import quoted

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
    found = rawjson.members(raw)
    content: list[Block] = []
    for index, item in enumerate(fields.elements(found, "content")):
        try:
            content.append(block_from_json(item))
        except ValueError as exc:
            raise ValueError(f"content block {index}: {exc}") from exc
    return Message(_role(found), tuple(content))


def block_to_json(block: Block) -> dict[str, object]:
    """Return one block as a dictionary for ``gojson.dumps``."""
    match block:
        case TextBlock():
            return {"text": {"text": block.text}}
        case ThinkingBlock():
            return {"thinking": _thinking(block)}
        case ToolUseBlock():
            call = {"id": block.id, "name": block.name, "input": RawJSON(block.input)}
            return {"tool_use": call}
        case ToolResultBlock():
            return {"tool_result": tool_result_to_json(block)}
        case ProviderBlock():
            return {"provider": {"kind": block.kind, "raw": RawJSON(block.raw)}}


def block_from_json(raw: bytes | str) -> Block:
    """Read one block back.

    Raises:
        ValueError: none or several of the known kinds are present, or a field has a wrong type.
    """
    found = rawjson.members(raw)
    kinds = [kind for kind in _READERS if fields.present(found, kind)]
    if len(kinds) != 1:
        named = ", ".join(kinds) or "none"
        raise ValueError(f"a block holds exactly one kind of content, found {named}")
    try:
        return _READERS[kinds[0]](rawjson.members(found[kinds[0]]))
    except ValueError as exc:
        raise ValueError(f"{kinds[0]}: {exc}") from exc


def tool_result_to_json(block: ToolResultBlock) -> dict[str, object]:
    """Return the fields of a tool result, without the key of its kind."""
    written: dict[str, object] = {"tool_use_id": block.tool_use_id, "content": block.content}
    if block.is_error:
        written["is_error"] = True
    return written


def tool_result_from_json(raw: bytes | str) -> ToolResultBlock:
    """Read the fields of a tool result back; ValueError when one has a wrong type."""
    return _read_tool_result(rawjson.members(raw))


def _thinking(block: ThinkingBlock) -> dict[str, object]:
    written: dict[str, object] = {}
    if block.text:
        written["text"] = block.text
    if block.signature:
        written["signature"] = base64.b64encode(block.signature).decode("ascii")
    return written


def _role(found: fields.Fields) -> Role:
    name = fields.string(found, "role")
    for role in ROLES:
        if role == name:
            return role
    raise ValueError(f"a message is of the user or the assistant, not of {quoted(name)}")


def _read_text(found: fields.Fields) -> Block:
    return TextBlock(fields.string(found, "text"))


def _read_thinking(found: fields.Fields) -> Block:
    encoded = fields.string(found, "signature")
    try:
        signature = binascii.a2b_base64(encoded, strict_mode=True) if encoded else b""
    except ValueError as exc:  # also text that is not ASCII
        raise ValueError("signature must be base64") from exc
    return ThinkingBlock(fields.string(found, "text"), signature)


def _read_tool_use(found: fields.Fields) -> Block:
    return ToolUseBlock(
        fields.string(found, "id"),
        fields.string(found, "name"),
        fields.packed(found, "input", b"{}"),
    )


def _read_tool_result(found: fields.Fields) -> ToolResultBlock:
    return ToolResultBlock(
        fields.string(found, "tool_use_id"),
        fields.string(found, "content"),
        fields.boolean(found, "is_error"),
    )


def _read_provider(found: fields.Fields) -> Block:
    return ProviderBlock(fields.string(found, "kind"), fields.packed(found, "raw"))


_READERS: Final[Mapping[str, Callable[[fields.Fields], Block]]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "tool_use": _read_tool_use,
    "tool_result": _read_tool_result,
    "provider": _read_provider,
}
