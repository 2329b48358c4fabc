"""What a verbose run tells of a model call: enough to recognise it by, and how much is sent."""

from __future__ import annotations

from fisk_ai.agent.events import LlmRequestEvent
from fisk_ai.llm.blocks import message_to_json
from fisk_ai.llm.model import Message, ToolResultBlock, text_of
from fisk_ai.text import gojson

PREVIEW_LIMIT = 60
"""Characters of the newest message that are enough to recognise it by."""


def summarise(messages: tuple[Message, ...]) -> LlmRequestEvent:
    """Return what is asked and how much is sent."""
    return LlmRequestEvent(
        preview=_preview(messages),
        messages=len(messages),
        size_bytes=len(gojson.dumps([message_to_json(message) for message in messages])),
    )


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
