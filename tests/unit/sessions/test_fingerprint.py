from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.sessions import fingerprint
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.fingerprint import Drift
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import Fingerprint
from fisk_ai.text.ids import valid_session_id


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _build(**changes: object) -> Fingerprint:
    values: dict[str, object] = {
        "provider": "anthropic",
        "model": "m",
        "system_prompt": "be kind",
        "max_tokens": 1,
        "max_iterations": 2,
    }
    return fingerprint.build(**(values | changes))  # pyright: ignore[reportArgumentType] - a test's own words


def test_the_prompt_is_kept_as_a_hash_of_itself_and_the_notes_that_apply() -> None:
    notes = ["note:hitl:1", "note:memory:1"]
    assert fingerprint.system_hash("<a> & b", notes) == _sha256(
        r'["\u003ca\u003e \u0026 b","note:hitl:1","note:memory:1"]'
    )
    assert fingerprint.system_hash("", ()) == _sha256('[""]')


def test_a_raised_revision_of_a_note_changes_the_hash() -> None:
    assert fingerprint.system_hash("p", ["note:hitl:1"]) != fingerprint.system_hash(
        "p", ["note:hitl:2"]
    )


def test_tools_are_hashed_in_order_with_sorted_schemas() -> None:
    schema = {"type": "object", "properties": {"b": {"enum": [1.0, "x"]}, "a": {"maximum": 2**64}}}
    defs = (
        ToolDef("say", "<b>", schema, defer_loading=True),
        ToolDef("ls", "", {}),
    )
    assert fingerprint.tools_hash(defs) == _sha256(
        r'[{"Name":"say","Description":"\u003cb\u003e","InputSchema":{"properties":'
        r'{"a":{"maximum":18446744073709552000},"b":{"enum":[1,"x"]}},"type":"object"},'
        r'"DeferLoading":true},'
        r'{"Name":"ls","Description":"","InputSchema":null,"DeferLoading":false}]'
    )
    assert fingerprint.tools_hash(defs) != fingerprint.tools_hash(defs[::-1])
    assert fingerprint.tools_hash(()) == _sha256("[]")


@pytest.mark.parametrize(("enabled", "mode"), [(True, "summarized"), (False, "off"), (None, "off")])
def test_thinking_unset_and_switched_off_are_the_same(enabled: bool | None, mode: str) -> None:  # noqa: FBT001
    assert _build(thinking_enabled=enabled).thinking_mode == mode


def test_the_same_configuration_has_not_drifted() -> None:
    drift = fingerprint.compare(_build(), _build())
    assert drift == Drift()
    assert drift.lines == ()


def test_differences_are_told_in_one_order_and_by_what_they_cost() -> None:
    current = replace(
        _build(),
        provider="scripted",
        model="n",
        system_hash="x",
        tools_hash="y",
        thinking_mode="summarized",
        reasoning_effort="high",
        max_tokens=10,
        max_iterations=20,
    )
    drift = fingerprint.compare(_build(), current)
    assert drift.hard == ("provider: anthropic -> scripted",)
    assert drift.tools == ("tool set: changed",)
    assert drift.budget == ("max_tokens: 1 -> 10", "max_iterations: 2 -> 20")
    assert drift.lines == (
        "model: m -> n",
        "system prompt: changed",
        "thinking: off -> summarized",
        "reasoning_effort: none -> high",
        "tool set: changed",
        "max_tokens: 1 -> 10",
        "max_iterations: 2 -> 20",
    )


def test_an_approval_is_bound_to_the_name_and_the_exact_arguments() -> None:
    digest = args_sha256("stream_rm", b'{ "name" : "a<b" , "n":1.0 }')
    assert digest == _sha256('stream_rm\0{"name":"a\\u003cb","n":1.0}')
    assert digest == args_sha256("stream_rm", b'{"name":"a<b","n":1.0}')
    assert digest != args_sha256("stream_rm", b'{"n":1.0,"name":"a<b"}')
    assert digest != args_sha256("stream_rm", b'{"name":"a<b","n":1}')
    assert digest != args_sha256("stream_ls", b'{"name":"a<b","n":1.0}')


def test_no_arguments_are_an_empty_object() -> None:
    assert args_sha256("ls", b"") == args_sha256("ls", b" {} ") == _sha256("ls\0{}")


def test_a_callers_token_becomes_a_session_id_that_does_not_show_it() -> None:
    run_id = session_id_for_token("nats", "secret")
    assert run_id == "t-" + _sha256("nats\0secret")
    assert valid_session_id(run_id)
    assert run_id != session_id_for_token("natsx", "secret")
