"""One line about a model call, for verbose runs."""

from __future__ import annotations

from fisk_ai.llm.blocks import message_to_json
from fisk_ai.llm.model import Message, ToolResultBlock, text_of
from fisk_ai.text import gojson

PREVIEW_LIMIT = 60
"""Characters of the newest message that are enough to recognise it by."""

_KIB = 1024
_MIB = 1024 * 1024


def summarise(messages: tuple[Message, ...]) -> str:
    """Return what is asked and how much is sent: ``"tell me a joke" (msgs=1, 61 B)``."""
    size_bytes = len(gojson.dumps([message_to_json(message) for message in messages]))
    return f"{_preview(messages)} (msgs={len(messages)}, {_size(size_bytes)})"


def _preview(messages: tuple[Message, ...]) -> str:
    if not messages:
        return "(empty)"
    text = text_of(messages[-1]).replace("\n", " ")
    if text:
        cut = text if len(text) <= PREVIEW_LIMIT else text[:PREVIEW_LIMIT] + "…"
        return f'"{cut}"'
    results = sum(isinstance(block, ToolResultBlock) for block in messages[-1].content)
    if not results:
        return "(no text)"
    return "1 tool result" if results == 1 else f"{results} tool results"


def _size(size_bytes: int) -> str:
    if size_bytes < _KIB:
        return f"{size_bytes} B"
    if size_bytes < _MIB:
        return f"{size_bytes / _KIB:.1f} KB"
    return f"{size_bytes / _MIB:.1f} MB"
