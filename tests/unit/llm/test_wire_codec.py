"""Blocks on the Anthropic wire: named ones rebuilt, all others exactly as they came."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.llm import deep
from fisk_ai.llm.anthropic.codec import (
    block_from_wire,
    block_to_wire,
    message_to_wire,
    response_from_wire,
)
from fisk_ai.llm.anthropic.failures import ApiError, ApiFailure
from fisk_ai.llm.blocks import message_from_json, message_to_json
from fisk_ai.llm.model import (
    Block,
    Message,
    ProviderBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from fisk_ai.text.gojson import RawJSON, dumps

FOUND = (
    b'{"type":"tool_search_tool_result","tool_use_id":"srv_1","content":{"type":'
    b'"tool_search_tool_search_result","tool_references":[{"type":"tool_reference",'
    b'"tool_name":"say"}]}}'
)
NOT_FOUND = (
    b'{"type":"tool_search_tool_result","tool_use_id":"srv_2","content":{"type":'
    b'"tool_search_tool_result_error","error_code":"unavailable"}}'
)


@pytest.mark.parametrize(
    ("wire", "block", "back"),
    [
        (
            b'{"type":"text","text":"Moo","citations":null}',
            TextBlock("Moo"),
            b'{"type":"text","text":"Moo"}',
        ),
        (
            b'{"type":"thinking","thinking":"","signature":""}',
            ThinkingBlock(),
            b'{"type":"thinking","thinking":"","signature":""}',
        ),
        (
            b'{"type":"thinking","signature":"Eu/8=","thinking":"hm"}',
            ThinkingBlock("hm", b"Eu/8="),
            b'{"type":"thinking","thinking":"hm","signature":"Eu/8="}',
        ),
        (
            b'{"type":"tool_use","id":"t","name":"n","input":{"b":1.50,"a":1e3},"caller":{"type":"direct"}}',
            ToolUseBlock("t", "n", b'{"b":1.50,"a":1e3}'),
            b'{"type":"tool_use","id":"t","name":"n","input":{"b":1.50,"a":1e3}}',
        ),
        (
            b'{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"ok"}]}',
            ToolResultBlock("t", "ok"),
            b'{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"ok"}],"is_error":false}',
        ),
    ],
)
def test_named_blocks_are_rebuilt_from_what_the_api_accepts(
    wire: bytes, block: Block, back: bytes
) -> None:
    assert block_from_wire(wire) == block
    assert dumps(block_to_wire(block)) == back


@pytest.mark.parametrize(
    ("kind", "wire"),
    [
        ("redacted_thinking", b'{"type":"redacted_thinking","data":"EmwK"}'),
        ("server_tool_use", b'{"type":"server_tool_use","id":"s","name":"x","input":{"q":1.0}}'),
        ("web_search_tool_result", b'{"type":"web_search_tool_result","content":[{"n":-0}]}'),
        ("tool_search_tool_result", FOUND),
        ("tool_search_tool_result", NOT_FOUND),
        ("image", b'{"type":"image","source":{"type":"base64","data":"/w=="}}'),
        ("of_tomorrow", b'{"z":1,"type":"of_tomorrow","a":{"b":[]},"z":2}'),
        ("tool_result", b'{"type":"tool_result","tool_use_id":"t","content":"plain"}'),
        (
            "tool_result",
            b'{"type":"tool_result","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
        ),
        ("tool_result", b'{"type":"tool_result","content":[{"type":"image"}]}'),
        ("tool_result", b'{"type":"tool_result","tool_use_id":"t"}'),
    ],
)
def test_every_other_block_comes_back_byte_for_byte(kind: str, wire: bytes) -> None:
    assert block_from_wire(wire) == ProviderBlock(kind, wire)
    assert dumps(block_to_wire(ProviderBlock(kind, wire))) == wire


@pytest.mark.parametrize("wire", [b"{}", b'{"type":null}', b'{"text":"x"}', b"[]", b'"text"'])
def test_a_block_without_a_type_is_refused(wire: bytes) -> None:
    with pytest.raises(ValueError, match=r"no type|expected"):
        block_from_wire(wire)


@pytest.mark.parametrize("raw", [b"{}", b'{"type":""}', b"null", b""])
def test_a_provider_block_that_is_none_is_not_sent(raw: bytes) -> None:
    message = Message("assistant", (TextBlock("a"), ProviderBlock("of_tomorrow", raw)))
    with pytest.raises(ValueError, match="content block 1: "):
        message_to_wire(message)


def test_what_is_no_block_of_ours_is_not_sent() -> None:
    message = Message("user", (cast("Block", "text"),))
    with pytest.raises(ValueError, match="content block 0: a str is no content block"):
        message_to_wire(message)


@pytest.mark.parametrize("absent", [b"", b',"input":null'])
def test_a_call_without_arguments_has_empty_ones(absent: bytes) -> None:
    call = block_from_wire(b'{"type":"tool_use","id":"t","name":"n"' + absent + b"}")
    assert call == ToolUseBlock("t", "n", b"{}")


def test_a_turn_survives_the_journal_and_goes_back_as_it_came() -> None:
    parts = [
        b'{"type":"thinking","thinking":"h\xc3\xa9","signature":"c2ln"}',
        b'{"type":"redacted_thinking","data":"EmwK"}',
        b'{"type":"text","text":"looking \xf0\x9f\x98\x80"}',
        b'{"type":"server_tool_use","id":"s1","name":"web_search","input":{"q":"\\u00e9","n":1.0}}',
        b'{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"score":0.50}]}',
        FOUND,
        b'{"type":"tool_use","id":"t1","name":"say","input":{"z":[1e2,-0],"a":"\\/"}}',
    ]
    reply = response_from_wire(
        b'{"role":"assistant","stop_reason":"tool_use","content":[' + b",".join(parts) + b"]}"
    )
    message = Message("assistant", reply.content)
    stored = message_from_json(dumps(message_to_json(message)))
    assert stored == message
    assert [dumps(block_to_wire(block)) for block in stored.content] == parts


def test_a_reply_is_read_with_its_own_id_model_and_usage() -> None:
    reply = response_from_wire(
        b"""{"id":"msg_1","role":"assistant","model":"claude-x-20260101","stop_reason":"pause_turn","content":[],
        "usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,
        "cache_creation_input_tokens":4,"output_tokens_details":{"thinking_tokens":5}}}"""
    )
    assert (reply.id, reply.model, reply.stop_reason) == (
        "msg_1",
        "claude-x-20260101",
        "pause_turn",
    )
    assert reply.usage == Usage(input=1, output=2, cache_read=3, cache_create=4, thinking=5)


def reply_of(content: str, more: str = "") -> bytes:
    return f'{{"role":"assistant","stop_reason":"end_turn","content":{content}{more}}}'.encode()


def test_what_a_reply_leaves_out_is_empty_or_zero() -> None:
    reply = response_from_wire(reply_of("[]", ',"usage":{"input_tokens":null}'))
    assert (reply.id, reply.model, reply.stop_reason, reply.usage) == ("", "", "end_turn", Usage())


def test_a_reply_that_says_something_needs_no_reason_to_stop() -> None:
    reply = response_from_wire(b'{"role":"assistant","content":[{"type":"text","text":"Moo"}]}')
    assert (reply.content, reply.stop_reason) == ((TextBlock("Moo"),), "")


def test_a_model_with_nothing_to_say_is_a_reply() -> None:
    assert response_from_wire(reply_of("[]")).content == ()
    assert response_from_wire(reply_of('[{"type":"text","text":""}]')).content == (TextBlock(""),)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (reply_of('[{"type":"text","text":1}]'), "content block 0: text must be"),
        (reply_of('[{"type":"text","text":""},{}]'), "content block 1: "),
        (reply_of("[]", ',"usage":{"input_tokens":1.5}'), "input_tokens"),
        (reply_of('"Moo"'), "content must be a list"),
    ],
)
def test_what_is_no_reply_is_refused_with_its_place(raw: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        response_from_wire(raw)


def test_a_block_of_the_provider_that_no_session_can_hold_is_refused_with_its_place() -> None:
    nested = '{"type":"odd","a":' + "[" * 400 + "]" * 400 + "}"
    with pytest.raises(
        ValueError, match="content block 0: a block of type odd is nested more than"
    ):
        response_from_wire(reply_of(f"[{nested}]"))


def test_a_call_whose_arguments_were_left_out_goes_back_with_none() -> None:
    call = ToolUseBlock("a", "look", deep.LEFT_OUT)
    assert block_to_wire(call) == {
        "type": "tool_use",
        "id": "a",
        "name": "look",
        "input": RawJSON(b"{}"),
    }


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", ", but an empty body"),
        (b" \n", ", but an empty body"),
        (b"<html>busy</html>", ", but a web page"),
        (b"busy", ", but plain text"),
        (b"null", ", but JSON that is no object"),
        (b"[]", ", but JSON that is no object"),
        (b'{"content":"\xff"}', ", but bytes that are not UTF-8"),
        (b"\xff\xfe", ", but bytes that are not UTF-8"),
        (b'{"content":', ", but JSON that is damaged or cut off"),
        (
            b'{"content":' * 3000 + b"1" + b"}" * 3000,
            ", but JSON that is nested too deeply to be read",
        ),
        (b"{}", ": it has no content and no stop_reason and no role"),
        (reply_of("null"), ": it has no content"),
        (b'{"role":"assistant","content":[]}', ": it has no stop_reason"),
        (b'{"role":"assistant","content":[],"stop_reason":null}', ": it has no stop_reason"),
        (b'{"content":[],"stop_reason":"end_turn"}', ": it has no role"),
    ],
)
def test_what_is_no_message_is_refused_in_plain_words(raw: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        response_from_wire(raw)
    assert str(refused.value) == f"the API answered something that is no message{reason}"


@pytest.mark.parametrize(
    ("raw", "kind", "message"),
    [
        (
            b'{"type":"error","error":{"type":"overloaded_error","message":"m"}}',
            "overloaded_error",
            "m",
        ),
        (b'{"error":{"type":"overloaded_error","message":"m"}}', "overloaded_error", "m"),
        (b'{"error":"words"}', "", '{"error":"words"}'),
        (b'{"type":"error"}', "", '{"type":"error"}'),
    ],
)
def test_an_error_that_came_as_a_reply_is_told_as_one(raw: bytes, kind: str, message: str) -> None:
    with pytest.raises(ApiError) as failed:
        response_from_wire(raw)
    assert failed.value.failure == ApiFailure(200, kind, message)


def test_a_window_that_is_full_cuts_a_reply_as_the_token_limit_does() -> None:
    raw = b'{"role":"assistant","content":[],"stop_reason":"model_context_window_exceeded"}'
    assert response_from_wire(raw).stop_reason == "max_tokens"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), _JSON, max_size=4), st.sampled_from([None, 0, 2]))
def test_any_block_is_stable_from_the_first_reading_on(
    members: dict[str, object], indent: int | None
) -> None:
    wire = json.dumps({**members, "type": "of_tomorrow"}, indent=indent)
    once = dumps(block_to_wire(block_from_wire(wire)))
    assert dumps(block_to_wire(block_from_wire(once))) == once
    assert json.loads(once) == json.loads(wire)
