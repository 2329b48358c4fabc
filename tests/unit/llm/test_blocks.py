"""The journal's form of the conversation: read back as written, and refused when it is none."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.llm.blocks import (
    block_from_json,
    block_to_json,
    message_from_json,
    message_to_json,
    tool_result_from_json,
)
from fisk_ai.llm.model import (
    Block,
    Message,
    ProviderBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.text.gojson import dumps

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_RAW = _JSON.map(dumps)
_OBJECT = st.dictionaries(_TEXT, _JSON, max_size=4).map(dumps)
_BLOCK = st.one_of(
    st.builds(TextBlock, _TEXT),
    st.builds(ThinkingBlock, _TEXT, st.binary(max_size=40)),
    st.builds(ToolUseBlock, _TEXT, _TEXT, _OBJECT),
    st.builds(ToolResultBlock, _TEXT, _TEXT, st.booleans()),
    st.builds(ProviderBlock, _TEXT, _RAW),
)
_MESSAGE = st.builds(
    Message, st.sampled_from(["user", "assistant"]), st.lists(_BLOCK, max_size=5).map(tuple)
)


@given(_MESSAGE)
def test_a_message_is_read_back_as_it_was_written(message: Message) -> None:
    assert message_from_json(dumps(message_to_json(message))) == message


@given(_MESSAGE)
def test_writing_again_what_was_read_gives_the_same_bytes(message: Message) -> None:
    once = dumps(message_to_json(message))
    assert dumps(message_to_json(message_from_json(once))) == once


@pytest.mark.parametrize(
    ("block", "written"),
    [
        (TextBlock("Moo"), b'{"text":{"text":"Moo"}}'),
        (TextBlock(""), b'{"text":{"text":""}}'),
        (ThinkingBlock(), b'{"thinking":{}}'),
        (ThinkingBlock("hm", b"sig"), b'{"thinking":{"text":"hm","signature":"c2ln"}}'),
        (
            ToolUseBlock("t1", "say", b'{"b":1.0,"a":1e3,"b":2}'),
            b'{"tool_use":{"id":"t1","name":"say","input":{"b":1.0,"a":1e3,"b":2}}}',
        ),
        (
            ToolResultBlock("t1", "ok"),
            b'{"tool_result":{"tool_use_id":"t1","content":"ok"}}',
        ),
        (
            ToolResultBlock("t1", "no", is_error=True),
            b'{"tool_result":{"tool_use_id":"t1","content":"no","is_error":true}}',
        ),
        (
            ProviderBlock("x", b'{"type":"x","n":-0}'),
            b'{"provider":{"kind":"x","raw":{"type":"x","n":-0}}}',
        ),
    ],
)
def test_each_block_has_its_exact_form(block: Block, written: bytes) -> None:
    assert dumps(block_to_json(block)) == written
    assert block_from_json(written) == block


def test_tool_input_keeps_its_spelling_and_loses_only_white_space() -> None:
    raw = (
        '{"tool_use": {"id": "t", "name": "n", "input": { "z" : 1.50, "a":"\\ud83d\\/" , "z": 2 }}}'
    )
    block = block_from_json(raw)
    assert block == ToolUseBlock("t", "n", b'{"z":1.50,"a":"\\ud83d\\/","z":2}')


def test_a_lone_surrogate_in_a_text_becomes_the_replacement_character() -> None:
    assert block_from_json(b'{"text":{"text":"a\\ud83d"}}') == TextBlock("a\ufffd")


def test_content_that_go_left_null_is_empty() -> None:
    assert message_from_json(b'{"role":"user","content":null}') == Message("user", ())
    assert message_from_json(b'{"role":"user"}') == Message("user", ())


def test_unknown_keys_and_null_kinds_are_passed_over() -> None:
    raw = (
        b'{"role":"user","new":1,"content":[{"text":{"text":"x","new":[]},"thinking":null,"n":1}]}'
    )
    assert message_from_json(raw) == Message("user", (TextBlock("x"),))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"[]", "expected"),
        (b'{"role":"system","content":[]}', "system"),
        (b'{"role":"user","content":{}}', "content must be a list"),
        (b'{"role":"user","content":[{}]}', "content block 0: .*found none"),
        (
            b'{"role":"user","content":[{"text":{"text":""}},{"text":{},"thinking":{}}]}',
            "content block 1: .*found text, thinking",
        ),
        (b'{"role":"user","content":[{"text":{"text":5}}]}', "text must be a string"),
        (b'{"role":"user","content":[{"thinking":{"signature":"?"}}]}', "base64"),
        (b'{"role":"user","content":[{"thinking":{"signature":"\xc3\xa9"}}]}', "base64"),
        (b'{"role":"user","content":[{"tool_result":{"is_error":1}}]}', "is_error"),
        (b'{"role":"user","content":[{"text":[]}]}', "text: "),
        (b'{"role":"user"} x', "more text"),
        (b"\xff", "utf-8"),
        (b'{"role":"user","content":[{"provider":{"raw":NaN}}]}', "NaN"),
        (b'{"role":"user","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(raw: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        message_from_json(raw)


def test_a_tool_result_is_read_without_the_key_of_its_kind() -> None:
    found = tool_result_from_json(b'{"tool_use_id":"a","content":"b","is_error":true}')
    assert found == ToolResultBlock("a", "b", is_error=True)


@given(st.dictionaries(_TEXT, _JSON, max_size=5), st.integers(0, 3))
def test_white_space_never_changes_what_is_read(value: dict[str, object], indent: int) -> None:
    spelled = json.dumps({"tool_use": {"id": "i", "name": "n", "input": value}}, indent=indent)
    block = cast("ToolUseBlock", block_from_json(spelled))
    assert json.loads(block.input) == value
    assert b"\n" not in block.input
