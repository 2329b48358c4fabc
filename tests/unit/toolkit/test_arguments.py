"""Reading a model's arguments, and saying what is missing in them."""

from __future__ import annotations

import pytest

from fisk_ai.errors import ToolError
from fisk_ai.toolkit.arguments import Number, decode, missing_message, missing_required

SCHEMA: dict[str, object] = {
    "properties": {"b": {}, "a": {}, "z": {}, "c": {}},
    "required": ["z", 7, "a"],
}


@pytest.mark.parametrize("raw", [b"", b"  \n", b"null", b" null "])
def test_nothing_and_null_stand_for_no_arguments(raw: bytes) -> None:
    assert decode(raw) == {}


@pytest.mark.parametrize("text", ["9007199254740993", "1.50", "1e3", "-0", "1" * 5000])
def test_a_number_keeps_its_spelling(text: str) -> None:
    value = decode(f'{{"n":{text}}}'.encode())["n"]
    assert isinstance(value, Number)
    assert str(value) == text


@pytest.mark.parametrize(
    "raw",
    [
        b"[1]",
        b'"x"',
        b"7",
        b"{",
        b"{} {}",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b"\xff\xfe",
        b'{"a":"\xff"}',
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(ToolError):
        decode(raw)


def test_the_last_of_duplicate_keys_wins() -> None:
    assert decode(b'{"a":"1","a":"2"}') == {"a": "2"}


def test_a_lone_surrogate_is_replaced_at_every_depth_and_a_pair_is_kept() -> None:
    raw = rb'{"\ud83d":["\udc80x",{"k\udfff":"\ud83d\ude00"}]}'
    assert decode(raw) == {"�": ["�x", {"k�": "😀"}]}


def test_missing_arguments_are_named_in_schema_order() -> None:
    assert missing_required(SCHEMA, b"") == ["z", "a"]
    assert missing_required(SCHEMA, b'{"a":1}') == ["z"]
    assert missing_required({}, b"{}") == []
    assert missing_required({"required": "z"}, b"{}") == []


@pytest.mark.parametrize("value", ["null", '""', "0", "false", "[]"])
def test_a_key_counts_as_supplied_whatever_its_value(value: str) -> None:
    assert missing_required({"required": ["k"]}, f'{{"k":{value}}}'.encode()) == []


@pytest.mark.parametrize("raw", [b"[]", b"{", b"7"])
def test_input_that_is_no_object_lacks_nothing(raw: bytes) -> None:
    assert missing_required(SCHEMA, raw) == []


def test_the_message_names_the_tool_what_is_missing_and_everything_it_takes() -> None:
    message = missing_message("ship_dock", SCHEMA, ["z"])
    assert '"ship_dock"' in message
    assert "arguments: z " in message
    assert "required: z, a; optional: b, c" in message
    assert "optional" not in missing_message("x", {"required": ["a"]}, ["a"])
