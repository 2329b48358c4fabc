"""Token counts that cannot be cost neither a reply nor a bound."""

from __future__ import annotations

import logging

import pytest

from fisk_ai.llm.anthropic.codec import response_from_wire
from fisk_ai.llm.model import TextBlock, Usage
from fisk_ai.llm.usage import COUNT_MAX, believed


def reply_with(usage: str) -> bytes:
    return (
        '{"role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn",'
        f'"usage":{usage}}}'
    ).encode()


@pytest.mark.parametrize("count", ["-1", "-1000", str(COUNT_MAX + 1), "9" * 18, "9" * 5000])
def test_a_count_that_cannot_be_is_zero_and_the_reply_stays(
    count: str, caplog: pytest.LogCaptureFixture
) -> None:
    usage = (
        f'{{"input_tokens":{count},"output_tokens":3,"cache_read_input_tokens":{count},'
        f'"cache_creation_input_tokens":{count},'
        f'"output_tokens_details":{{"thinking_tokens":{count}}}}}'
    )
    with caplog.at_level(logging.WARNING, "fisk_ai.llm.usage"):
        reply = response_from_wire(reply_with(usage))
    assert reply.content == (TextBlock("hi"),)
    assert reply.usage == Usage(output=3)
    assert len(caplog.records) == 1


def test_the_largest_count_that_every_reader_holds_is_believed() -> None:
    usage = Usage(input=COUNT_MAX, thinking=0)
    assert believed(usage) == usage
