from __future__ import annotations

import pytest

from fisk_ai.agent.events import LlmRequestEvent
from fisk_ai.agent.request_summary import summarise
from fisk_ai.llm.model import Block, Message, TextBlock, ToolResultBlock


@pytest.mark.parametrize(
    ("content", "preview"),
    [
        ((TextBlock("a\nb"),), '"a b"'),
        ((TextBlock("x" * 61),), '"' + "x" * 60 + '…"'),
        ((ToolResultBlock("a", "1"),), "1 tool result"),
        ((ToolResultBlock("a", "1"), ToolResultBlock("b", "2")), "2 tool results"),
        ((ToolResultBlock("a", "1"), TextBlock("more")), '"more"'),
        ((), "(no text)"),
    ],
)
def test_the_newest_message_is_previewed(content: tuple[Block, ...], preview: str) -> None:
    assert summarise((Message("user", content),)).preview == preview


def test_a_request_without_messages_is_empty() -> None:
    assert summarise(()) == LlmRequestEvent(preview="(empty)", messages=0, size_bytes=2)


@pytest.mark.parametrize("length", [0, 100, 2048])
def test_the_size_is_of_the_messages_as_json(length: int) -> None:
    messages = (Message("user", (TextBlock("x" * length),)),)
    assert summarise(messages).size_bytes == 50 + length
