"""One request as the Messages API takes it: a pure function, so that tests need no network.

Everything is built anew for each call; what the caller hashed and stored is never touched. Rules:
``docs/reference/llm.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fisk_ai.llm.anthropic.codec import message_to_wire
from fisk_ai.llm.anthropic.tools import tools_to_wire
from fisk_ai.llm.model import (
    Block,
    Message,
    ProviderBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)


def build_params(request: Request) -> dict[str, object]:
    """Return the body of a request, for ``gojson.dumps``.

    Raises:
        ValueError: a message that cannot be sent; names it and the content block.
    """
    params: dict[str, object] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
    }
    if request.system_blocks:
        params["system"] = _system(request)
    if request.tools:
        params["tools"] = tools_to_wire(request)
    params["messages"] = list(_messages(request))
    if request.thinking is not None:
        params["thinking"] = _thinking(on=request.thinking)
    if request.reasoning_effort:
        params["output_config"] = {"effort": request.reasoning_effort}
    if request.prompt_cache:
        params["cache_control"] = _cache_mark(request)
    return params


def size_hint(request: Request) -> int:
    """Return about how many bytes a request will have; counts what grows with a conversation."""
    blocks = (block for message in request.messages for block in message.content)
    return sum(map(_size, blocks))


def _size(block: Block) -> int:
    match block:
        case TextBlock() | ThinkingBlock():
            return len(block.text)
        case ToolUseBlock():
            return len(block.input)
        case ToolResultBlock():
            return len(block.content)
        case ProviderBlock():
            return len(block.raw)


def _messages(request: Request) -> Iterator[dict[str, object]]:
    for index, message in enumerate(_history(request)):
        try:
            yield message_to_wire(message)
        except ValueError as exc:
            raise ValueError(f"message {index}: {exc}") from exc


def _system(request: Request) -> list[dict[str, object]]:
    blocks: list[dict[str, object]] = [
        {"type": "text", "text": text} for text in request.system_blocks
    ]
    if request.prompt_cache:
        blocks[-1]["cache_control"] = _cache_mark(request)
    return blocks


def _cache_mark(request: Request) -> dict[str, object]:
    # A person who thinks longer than the default five minutes would pay for the write and never
    # profit from it.
    return {"type": "ephemeral", "ttl": "1h"} if request.interactive else {"type": "ephemeral"}


def _thinking(*, on: bool) -> dict[str, object]:
    return {"type": "adaptive", "display": "summarized"} if on else {"type": "disabled"}


def _history(request: Request) -> tuple[Message, ...]:
    # Only an explicit "off" strips: with nothing said the model may think by itself, and its next
    # turn must find its own signed reasoning unchanged.
    if request.thinking is not False:
        return request.messages
    return tuple(_without_thinking(message) for message in request.messages)


def _without_thinking(message: Message) -> Message:
    kept = tuple(block for block in message.content if not _is_thinking(block))
    return replace(message, content=kept) if kept else message


def _is_thinking(block: Block) -> bool:
    if isinstance(block, ProviderBlock):
        return block.kind == "redacted_thinking"
    return isinstance(block, ThinkingBlock)
