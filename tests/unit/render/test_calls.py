"""One call and one result as a person reads them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a.blocks import result_block
from fisk_ai.render.calls import CUT, CUT_FOR_STREAM, call_line, result_text
from fisk_ai.toolkit import envelope
from fisk_ai.toolkit.contract import CommandExec

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"{}", "say()"),
        (b'{"text":"Moo","count":5}', 'say(count:5, text:"Moo")'),
        (b'{"text":"a\\nb\\tc"}', 'say(text:"a b c")'),
        (b'{"n":1.50,"e":1E5,"o":{"b":1,"a":[1, 2]}}', 'say(e:1E5, n:1.50, o:{"b":1,"a":[1,2]})'),
        (b'{"x":null,"y":true}', 'say(x:"", y:true)'),
        (b'{"a":1,"a":2}', "say(a:2)"),
        (b"[1]", "say(… arguments not shown)"),
        (b"", "say(… arguments not shown)"),
        (b'{"a":', "say(… arguments not shown)"),
        (b'{"a":"\\ud83d"}', 'say(a:"\ufffd")'),
        (b'{"a":"\\u001b[31mred"}', 'say(a:"red")'),
    ],
)
def test_a_call_is_its_name_and_its_sorted_arguments(raw: bytes, line: str) -> None:
    assert call_line("say", raw) == line


def test_a_long_value_is_cut_at_96_code_points() -> None:
    raw = json.dumps({"text": "😀" * 200}).encode()
    assert call_line("say", raw) == f'say(text:"{"😀" * 96}…")'


def test_chatty_tools_show_the_one_argument_that_says_what_they_do() -> None:
    raw = b'{"key":"k","value":"a long note"}'
    assert call_line("memory_write", raw) == 'memory_write(key:"k")'
    assert call_line("knowledge_search", raw) == "knowledge_search()"


@given(st.dictionaries(st.text(), _json, max_size=4))
def test_a_call_is_one_line_without_control_characters(arguments: dict[str, object]) -> None:
    line = call_line("tool", json.dumps(arguments).encode())
    assert line.isprintable() or all(char >= " " and char != "\x7f" for char in line)
    assert "\n" not in line


@given(st.binary(max_size=40))
def test_any_bytes_make_a_line(raw: bytes) -> None:
    assert call_line("tool", raw).startswith("tool(")


@given(st.binary(max_size=40))
def test_any_bytes_in_a_value_are_shown(value: bytes) -> None:
    assert call_line("t", b'{"a":"' + value + b'"}').startswith("t(")


def test_bytes_that_are_no_utf_8_are_shown_as_replacements() -> None:
    assert call_line("t", b'{"a\xff":"\xfe"}') == 't(a\ufffd:"\ufffd")'


@pytest.mark.parametrize(
    ("output", "is_error", "text"),
    [
        ("plain", False, "plain"),
        ("", False, "(no output)"),
        ("", True, "(error)"),
        ("why", True, "(error) why"),
        ('{"command":"x","exit_code":0,"output":"Moo"}', False, "Moo"),
        ('  {"command":"x","exit_code":0,"output":"Moo"}\n', False, "Moo"),
        ('{"command":"x","exit_code":0,"output":""}', False, "(no output)"),
        ('{"command":"x","exit_code":3,"output":"no"}', False, "(exit 3) no"),
        ('{"command":"x","exit_code":3,"output":""}', False, "(exit 3)"),
        ('{"output":"x","other":1}', False, '{"output":"x","other":1}'),
        ('{"temperature":5}', False, '{"temperature":5}'),
        ("\x1b[31mred\x1b[0m\nline", False, "red\nline"),
    ],
)
def test_a_result_shows_what_came_back(output: str, text: str, *, is_error: bool) -> None:
    assert result_text(output, is_error=is_error) == text


@pytest.mark.parametrize(("status", "lead"), [(0, ""), (3, "(exit 3) ")])
def test_a_large_output_is_shown_as_text_although_it_was_cut(status: int, lead: str) -> None:
    printed = 'line "one" <b>\n' * 9_000
    whole = envelope.render(CommandExec(command="dump --all", exit_code=status), printed)
    shown = result_text(result_block("1", whole, is_error=False).output, is_error=False)
    kept = shown.removeprefix(lead).removesuffix(CUT_FOR_STREAM)
    assert shown == f"{lead}{kept}{CUT_FOR_STREAM}"
    assert printed.startswith(kept)
    assert len(kept) > 20_000


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"]), max_size=40), st.data())
def test_an_output_is_shown_as_far_as_it_goes(printed: str, data: st.DataObject) -> None:
    whole = envelope.render(CommandExec(command='say "x"', exit_code=0), printed)
    least = whole.index('"output":') + len('"output":"')
    kept = whole[: data.draw(st.integers(least, len(whole) - 2))]
    shown = result_text(kept, is_error=False)
    assert shown.endswith(CUT)
    assert result_text(whole, is_error=False).startswith(shown.removesuffix(CUT).rstrip("\n"))
