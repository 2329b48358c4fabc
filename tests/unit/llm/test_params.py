"""The body of a request, without any network."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from fisk_ai.llm.anthropic.params import build_params, size_hint
from fisk_ai.llm.model import (
    Message,
    ProviderBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.text.gojson import dumps

BASE = Request(
    model="claude-x",
    system_blocks=("one", "two"),
    messages=(Message("user", (TextBlock("hello"),)),),
    tools=(),
    max_output_tokens=8192,
)


def body(request: Request) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(dumps(build_params(request))))


def schema_of(schema: Mapping[str, object]) -> dict[str, object]:
    tool = ToolDef("t", "", schema)
    (written,) = cast("list[dict[str, object]]", body(replace(BASE, tools=(tool,)))["tools"])
    return cast("dict[str, object]", written["input_schema"])


def test_a_plain_request_holds_exactly_what_it_needs() -> None:
    assert body(replace(BASE, prompt_cache=False)) == {
        "model": "claude-x",
        "max_tokens": 8192,
        "system": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
    }


@pytest.mark.parametrize(
    ("is_interactive", "mark"),
    [(False, {"type": "ephemeral"}), (True, {"type": "ephemeral", "ttl": "1h"})],
)
def test_the_last_system_block_and_the_request_are_marked_for_caching(
    is_interactive: bool,  # noqa: FBT001 - a parameter of the table
    mark: dict[str, str],
) -> None:
    written = body(replace(BASE, interactive=is_interactive))
    assert written["cache_control"] == mark
    first, last = cast("list[dict[str, object]]", written["system"])
    assert "cache_control" not in first
    assert last["cache_control"] == mark


@pytest.mark.parametrize("is_interactive", [False, True])
def test_no_mark_is_set_when_caching_is_off(is_interactive: bool) -> None:  # noqa: FBT001 - a parameter of the table
    written = dumps(build_params(replace(BASE, prompt_cache=False, interactive=is_interactive)))
    assert b"cache_control" not in written


def test_without_a_system_prompt_only_the_request_is_marked() -> None:
    written = body(replace(BASE, system_blocks=()))
    assert "system" not in written
    assert written["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("thinking", "written"),
    [
        (True, {"type": "adaptive", "display": "summarized"}),
        (False, {"type": "disabled"}),
        (None, None),
    ],
)
def test_thinking_is_asked_for_refused_or_not_mentioned(
    thinking: bool | None,  # noqa: FBT001 - a parameter of the table
    written: dict[str, str] | None,
) -> None:
    assert body(replace(BASE, thinking=thinking)).get("thinking") == written


@pytest.mark.parametrize("effort", ["low", "xhigh", "nobody_knows_it"])
def test_an_effort_goes_out_as_it_is(effort: str) -> None:
    assert body(replace(BASE, reasoning_effort=effort))["output_config"] == {"effort": effort}


def test_no_effort_sends_no_parameter() -> None:
    assert "output_config" not in body(BASE)


def test_a_tool_always_has_a_description_and_says_whether_it_is_deferred() -> None:
    tools = (ToolDef("a", "", {"type": "object"}), ToolDef("b", "B.", {}, defer_loading=True))
    assert body(replace(BASE, tools=tools))["tools"] == [
        {
            "type": "custom",
            "name": "a",
            "description": "",
            "defer_loading": False,
            "input_schema": {"type": "object"},
        },
        {
            "type": "custom",
            "name": "b",
            "description": "B.",
            "defer_loading": True,
            "input_schema": {"type": "object"},
        },
    ]


def test_what_may_be_left_out_says_so_in_its_description() -> None:
    written = schema_of(
        {
            "type": "string",
            "properties": {
                "must": {"type": "string", "description": "Needed."},
                "may": {"type": "string", "description": "Nice."},
                "bare": {"type": "object", "properties": {"in": {"type": "string"}}},
                "any": True,
            },
            "required": ["must", 5],
            "additionalProperties": False,
        }
    )
    assert written == {
        "type": "object",
        "properties": {
            "must": {"type": "string", "description": "Needed."},
            "may": {"type": "string", "description": "Nice. (optional)"},
            "bare": {
                "type": "object",
                "properties": {"in": {"type": "string"}},
                "description": "Optional.",
            },
            "any": True,
        },
        "required": ["must"],
        "additionalProperties": False,
    }


def test_a_schema_without_properties_gets_none() -> None:
    assert schema_of({"$defs": {"x": {}}}) == {"type": "object", "$defs": {"x": {}}}


def test_building_a_request_changes_nothing_it_was_given() -> None:
    tool = ToolDef("t", "d", {"properties": {"a": {"description": "x"}}, "required": []})
    history = (Message("assistant", (ThinkingBlock("hm", b"s"), TextBlock("yes"))),)
    request = replace(BASE, tools=(tool,), messages=history, thinking=False)
    before = copy.deepcopy(request)
    first = dumps(build_params(request))
    assert request == before
    assert dumps(build_params(request)) == first


def history_of(request: Request) -> list[list[str]]:
    messages = cast("list[dict[str, list[dict[str, str]]]]", body(request)["messages"])
    return [[block["type"] for block in message["content"]] for message in messages]


THOUGHTS = (
    Message(
        "assistant",
        (
            ThinkingBlock("hm", b"sig"),
            ProviderBlock("redacted_thinking", b'{"type":"redacted_thinking","data":"x"}'),
            TextBlock("first"),
            ProviderBlock("server_tool_use", b'{"type":"server_tool_use","id":"1"}'),
            ToolUseBlock("t1", "say", b"{}"),
        ),
    ),
    Message("user", (ToolResultBlock("t1", "ok"),)),
    Message("assistant", (ThinkingBlock("only", b"sig"),)),
)


def test_an_explicit_off_strips_thinking_but_never_empties_a_message() -> None:
    assert history_of(replace(BASE, messages=THOUGHTS, thinking=False)) == [
        ["text", "server_tool_use", "tool_use"],
        ["tool_result"],
        ["thinking"],
    ]


@pytest.mark.parametrize("thinking", [None, True])
def test_thinking_goes_back_unchanged_otherwise(thinking: bool | None) -> None:  # noqa: FBT001 - a parameter of the table
    assert history_of(replace(BASE, messages=THOUGHTS, thinking=thinking)) == [
        ["thinking", "redacted_thinking", "text", "server_tool_use", "tool_use"],
        ["tool_result"],
        ["thinking"],
    ]


def test_a_message_that_cannot_be_sent_is_named_with_its_block() -> None:
    broken = Message("assistant", (TextBlock("a"), ProviderBlock("x", b"null")))
    request = replace(BASE, messages=(*BASE.messages, broken))
    with pytest.raises(ValueError, match="message 1: content block 1: "):
        build_params(request)


def test_the_size_of_a_conversation_is_known_before_it_is_written() -> None:
    blocks = (
        TextBlock("x" * 10),
        ThinkingBlock("x" * 100),
        ToolUseBlock("t", "n", b'"' + b"x" * 998 + b'"'),
        ToolResultBlock("t", "x" * 10_000),
        ProviderBlock("p", b'{"type":"p"}'),
    )
    request = replace(BASE, messages=(Message("user", blocks), Message("user", ())))
    assert size_hint(request) == 10 + 100 + 1000 + 10_000 + 12


SEARCH = {"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"}


def tools_of(request: Request) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", body(request)["tools"])


def test_the_search_stands_behind_the_tools_it_finds() -> None:
    tools = (ToolDef("b", "B.", {}, defer_loading=True), ToolDef("a", "A.", {}))
    written = tools_of(replace(BASE, tools=tools, tool_search=True))
    assert [(tool["name"], tool.get("defer_loading")) for tool in written[:2]] == [
        ("b", True),
        ("a", False),
    ]
    assert written[2:] == [SEARCH]


def test_where_nothing_has_to_be_found_there_is_no_search() -> None:
    assert SEARCH not in tools_of(replace(BASE, tools=(ToolDef("a", "A.", {}),)))


def test_what_may_be_left_out_is_said_once_however_often_a_request_is_built() -> None:
    schema = {"properties": {"a": {"description": "x"}, "b": {}}, "required": ["b"]}
    request = replace(BASE, tools=(ToolDef("t", "", schema),))
    first = tools_of(request)
    assert tools_of(request) == first
    (written,) = first
    again = tools_of(
        replace(BASE, tools=(ToolDef("t", "", cast("dict[str, object]", written["input_schema"])),))
    )
    assert again == first
