"""A streamed reply is put together to what the whole reply would have been."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.llm import deep
from fisk_ai.llm.anthropic.codec import response_from_wire
from fisk_ai.llm.anthropic.events import EVENT_LIMIT_BYTES, events
from fisk_ai.llm.anthropic.failures import ApiError
from fisk_ai.llm.anthropic.stream import Assembly
from fisk_ai.llm.model import (
    Delta,
    ProviderBlock,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)

START = (
    '{"type":"message_start","message":{"id":"m","role":"assistant","model":"x","content":[],"stop_reason":null,'
    '"usage":{"input_tokens":7,"output_tokens":1,"cache_read_input_tokens":2}}}'
)
STOP = '{"type":"message_stop"}'


def ended(reason: str = "end_turn") -> str:
    return (
        f'{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},'
        '"usage":{"output_tokens":9,"cache_read_input_tokens":null}}'
    )


def block(index: int, start: str, *deltas: str) -> list[str]:
    return [
        f'{{"type":"content_block_start","index":{index},"content_block":{start}}}',
        *(f'{{"type":"content_block_delta","index":{index},"delta":{delta}}}' for delta in deltas),
        f'{{"type":"content_block_stop","index":{index}}}',
    ]


def assembled(*lines: str) -> tuple[Response, list[Delta]]:
    assembly = Assembly()
    shown = [assembly.take(line.encode()) for line in lines]
    return response_from_wire(assembly.message()), [delta for delta in shown if delta]


def text_delta(text: str) -> str:
    return json.dumps({"type": "text_delta", "text": text})


def input_delta(text: str) -> str:
    return json.dumps({"type": "input_json_delta", "partial_json": text})


def test_every_kind_of_block_is_put_together() -> None:
    searched = '{"type":"server_tool_use","id":"s","name":"w","input":{}}'
    found = '{"type":"web_search_tool_result","tool_use_id":"s","content":[{"score":0.50}]}'
    reply, shown = assembled(
        START,
        '{"type":"ping"}',
        *block(
            0,
            '{"type":"thinking","thinking":"","signature":""}',
            '{"type":"thinking_delta","thinking":"h"}',
            '{"type":"thinking_delta","thinking":"m"}',
            '{"type":"signature_delta","signature":"Eu/8="}',
        ),
        *block(1, '{"type":"text","text":"","citations":null}', text_delta("Mo"), text_delta("o")),
        *block(2, searched, input_delta(""), input_delta('{"q":'), input_delta(" 1.0}")),
        *block(3, found),
        *block(4, '{"type":"tool_use","id":"t","name":"n","input":{}}', input_delta('{"a":1e3}')),
        *block(5, '{"type":"tool_use","id":"u","name":"n","input":{}}', input_delta("")),
        '{"type":"of_tomorrow"}',
        ended("tool_use"),
        STOP,
    )
    assert reply == Response(
        content=(
            ThinkingBlock("hm", b"Eu/8="),
            TextBlock("Moo"),
            ProviderBlock(
                "server_tool_use",
                b'{"type":"server_tool_use","id":"s","name":"w","input":{"q":1.0}}',
            ),
            ProviderBlock("web_search_tool_result", found.encode()),
            ToolUseBlock("t", "n", b'{"a":1e3}'),
            ToolUseBlock("u", "n", b"{}"),
        ),
        stop_reason="tool_use",
        usage=Usage(input=7, output=9, cache_read=2),
        id="m",
        model="x",
    )
    assert shown == [
        Delta(0, "thinking", "h"),
        Delta(0, "thinking", "m"),
        Delta(0, "thinking", "", final=True),
        Delta(1, "text", "Mo"),
        Delta(1, "text", "o"),
        Delta(1, "text", "", final=True),
    ]


def test_a_character_that_came_in_two_halves_is_whole_in_the_reply() -> None:
    halves = ('{"type":"text_delta","text":"\\ud83d"}', '{"type":"text_delta","text":"\\ude00"}')
    reply, shown = assembled(START, *block(0, '{"type":"text","text":""}', *halves), ended(), STOP)
    assert reply.content == (TextBlock("😀"),)
    assert [delta.text for delta in shown] == ["😀", ""]


def test_half_a_character_is_shown_with_what_follows_or_at_the_end_of_its_block() -> None:
    parts = (r"a\ud83d", "", r"b\ud83d", r"\ude00c", r"\udc00", r"\ud83d")
    deltas = [f'{{"type":"text_delta","text":"{part}"}}' for part in parts]
    _, shown = assembled(START, *block(0, '{"type":"text","text":""}', *deltas), ended(), STOP)
    assert [delta.text for delta in shown] == ["a", "\ufffdb", "😀c", "\ufffd", "\ufffd"]
    assert [delta.final for delta in shown] == [False] * 4 + [True]


CALL = block(0, '{"type":"tool_use","id":"t","name":"n","input":{}}', input_delta('{"a":1}'))
TEXT = block(0, '{"type":"text","text":""}', text_delta("x"))
THOUGHT = '{"type":"thinking","thinking":"","signature":""}'


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([START, *CALL[:-1], ended("tool_use"), STOP], "ended inside a content block"),
        ([START, *TEXT[:-1], ended(), STOP], "ended inside a content block"),
        ([START, *TEXT, ended(), STOP, *CALL], "behind its end with a content_block_start"),
        ([START, *TEXT, ended(), STOP, ended("tool_use")], "behind its end with a message_delta"),
        ([STOP, START, *CALL, ended("tool_use")], "began with a message_stop"),
        ([*CALL, START, ended("tool_use"), STOP], "began with a content_block_start"),
        ([START, *TEXT, START, ended(), STOP], "began twice"),
        ([START, *CALL, *CALL, ended("tool_use"), STOP], "content block 0 was started twice"),
        ([START, *CALL, CALL[1], ended("tool_use"), STOP], "is closed and got a input_json_delta"),
        ([START, CALL[0], TEXT[1], CALL[2], STOP], "of type tool_use and got a text_delta"),
        ([START, TEXT[0], CALL[1], TEXT[2], STOP], "of type text and got a input_json_delta"),
        (
            [START, *block(0, THOUGHT, text_delta("x")), ended(), STOP],
            "of type thinking and got a text_delta",
        ),
    ],
)
def test_a_stream_that_contradicts_itself_is_no_reply(lines: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        assembled(*lines)


def test_a_ping_may_stand_anywhere() -> None:
    ping = '{"type":"ping"}'
    reply, _ = assembled(ping, START, ping, *TEXT, ended(), STOP, ping)
    assert reply.content == (TextBlock("x"),)


def test_tool_input_that_came_in_two_halves_of_a_character_is_whole() -> None:
    halves = (
        '{"type":"input_json_delta","partial_json":"{\\"a\\":\\"\\ud83d"}',
        '{"type":"input_json_delta","partial_json":"\\ude00\\"}"}',
    )
    call = block(0, '{"type":"tool_use","id":"t","name":"n","input":{}}', *halves)
    reply, _ = assembled(START, *call, ended("tool_use"), STOP)
    assert reply.content == (ToolUseBlock("t", "n", '{"a":"😀"}'.encode()),)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_tool_input_that_the_token_limit_cut_is_empty(reason: str) -> None:
    call = block(0, '{"type":"tool_use","id":"t","name":"n","input":{}}', input_delta('{"a":"b'))
    reply, _ = assembled(START, *call, ended(reason), STOP)
    assert reply.stop_reason == "max_tokens"
    assert reply.content == (ToolUseBlock("t", "n", b"{}"),)


@pytest.mark.parametrize("reason", ["refusal", "pause_turn"])
def test_a_call_that_a_refusal_or_a_pause_broke_off_was_never_made(reason: str) -> None:
    said = block(0, '{"type":"text","text":""}', text_delta("I look"))
    call = block(1, '{"type":"tool_use","id":"t","name":"n","input":{}}', input_delta('{"a":"b'))
    reply, _ = assembled(START, *said, *call, ended(reason), STOP)
    assert (reply.stop_reason, reply.content) == (reason, (TextBlock("I look"),))


def test_blank_tool_input_is_none() -> None:
    call = block(0, '{"type":"tool_use","id":"t","name":"n","input":{}}', input_delta(" \n"))
    reply, _ = assembled(START, *call, ended("tool_use"), STOP)
    assert reply.content == (ToolUseBlock("t", "n", b"{}"),)


def test_tool_input_that_is_no_json_is_never_run_as_empty() -> None:
    call = block(0, '{"type":"tool_use","id":"t","name":"n","input":{}}', input_delta('{"a":"b'))
    with pytest.raises(ValueError, match="input of a call"):
        assembled(START, *call, ended("tool_use"), STOP)


@pytest.mark.parametrize("count", range(7))
def test_a_stream_that_stops_early_is_no_reply(count: int) -> None:
    lines = [START, *block(0, '{"type":"text","text":""}', text_delta("x")), ended(), STOP]
    with pytest.raises(ValueError, match="ended before"):
        assembled(*lines[: min(count, len(lines) - 1)])


@pytest.mark.parametrize(
    "line",
    [
        "nope",
        '{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}',
        '{"type":"content_block_stop","index":3}',
        '{"type":"content_block_start","index":"a","content_block":{}}',
        '{"type":"message_start","message":5}',
    ],
)
def test_an_event_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Assembly().take(line.encode())


@pytest.mark.parametrize("start", [b'"type":"error",', b""])
def test_an_error_event_carries_what_the_api_said(start: bytes) -> None:
    line = b"{" + start + b'"error":{"type":"overloaded_error","message":"busy"}}'
    with pytest.raises(ApiError) as failed:
        Assembly().take(line)
    said = failed.value.failure
    assert (said.status, said.kind, said.message) == (0, "overloaded_error", "busy")


async def chunked(data: bytes, sizes: list[int]) -> AsyncIterator[bytes]:
    position = 0
    for size in sizes:
        yield data[position : position + size]
        position += size
    yield data[position:]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n")).filter(bool),
        max_size=5,
    ),
    st.lists(st.integers(0, 9), max_size=20),
    st.sampled_from(["\n", "\r\n"]),
)
async def test_events_are_cut_at_line_feeds_alone_however_they_arrive(
    texts: list[str], sizes: list[int], newline: str
) -> None:
    lines = "".join(f"event: x{newline}data: {text}{newline}{newline}" for text in texts)
    found = [event async for event in events(chunked(lines.encode(), sizes))]
    assert found == [text.encode() for text in texts]


async def test_data_of_several_lines_is_joined_and_comments_are_passed_over() -> None:
    raw = b": hello\n\ndata:a\ndata: b\nid: 1\n\ndata: left over"
    assert [event async for event in events(chunked(raw, []))] == [b"a\nb"]


@pytest.mark.parametrize(
    "raw", [b'{"type":\n "message"}', b"\n\n <html>\n</html>", b"[1,\n2]\n", b"{}\r\n"]
)
@pytest.mark.parametrize("size", [1, 3, 99])
async def test_a_body_that_is_no_stream_is_one_event(raw: bytes, size: int) -> None:
    found = [event async for event in events(chunked(raw, [size] * len(raw)))]
    assert [event.strip() for event in found] == [raw.strip()]


@pytest.mark.parametrize("newline", [b"", b"\n"])
async def test_an_endless_body_that_is_no_stream_is_refused(newline: bytes) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"{"
        while True:
            yield b" " * (EVENT_LIMIT_BYTES // 4) + newline

    with pytest.raises(ValueError, match="is over"):
        _ = [event async for event in events(endless())]


def test_a_message_from_a_server_that_does_not_stream_is_the_reply() -> None:
    whole = '{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","id":"m"}'
    reply, shown = assembled(whole)
    assert (reply.id, reply.content, shown) == ("m", (), [])


async def test_an_endless_event_is_refused() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"data: "
        while True:
            yield b"x" * (EVENT_LIMIT_BYTES // 4)

    with pytest.raises(ValueError, match="is over"):
        _ = [event async for event in events(endless())]


@pytest.mark.parametrize("levels", [500, 3000])
def test_a_streamed_call_whose_input_is_too_deep_is_a_call_whose_arguments_were_left_out(
    levels: int,
) -> None:
    nested = '{"a":' * levels + "1" + "}" * levels
    start = '{"type":"tool_use","id":"c","name":"look","input":{}}'
    response, _ = assembled(START, *block(0, start, input_delta(nested)), ended("tool_use"), STOP)
    assert response.content == (ToolUseBlock("c", "look", deep.LEFT_OUT),)
