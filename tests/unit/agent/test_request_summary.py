from __future__ import annotations

import pytest

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
    assert summarise((Message("user", content),)).startswith(f"{preview} (msgs=1, ")


def test_a_request_without_messages_is_empty() -> None:
    assert summarise(()) == "(empty) (msgs=0, 2 B)"


@pytest.mark.parametrize(
    ("length", "size"), [(100, "150 B"), (2048, "2.0 KB"), (3 * 1024 * 1024, "3.0 MB")]
)
def test_the_size_is_of_the_messages_as_json(length: int, size: str) -> None:
    messages = (Message("user", (TextBlock("x" * length),)),)
    assert summarise(messages).endswith(f"(msgs=1, {size})")
