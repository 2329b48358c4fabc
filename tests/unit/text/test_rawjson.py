from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text import rawjson

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=5), st.sampled_from([None, 1]))
def test_an_object_is_cut_into_the_texts_of_its_members(
    value: dict[str, object], indent: int | None
) -> None:
    found = rawjson.members(json.dumps(value, indent=indent))
    assert {key: json.loads(raw) for key, raw in found.items()} == value


@given(st.lists(values, max_size=5), st.sampled_from([None, 1]))
def test_a_list_is_cut_into_the_texts_of_its_items(value: list[object], indent: int | None) -> None:
    assert [json.loads(raw) for raw in rawjson.elements(json.dumps(value, indent=indent))] == value


def test_a_cut_member_keeps_its_own_spelling() -> None:
    raw = rb' {"a" : { "x":1.0,  "x":-0, "y":"\/\ud800" } ,"n":' + b"9" * 5000 + b"}"
    found = rawjson.members(raw)
    assert found["a"] == rb'{ "x":1.0,  "x":-0, "y":"\/\ud800" }'
    assert len(found["n"]) == 5000


def test_of_duplicate_members_the_last_wins() -> None:
    assert rawjson.members(b'{"a":1,"\\u0061":2}') == {"a": b"2"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"{}x",
        b'{"a"}',
        b'{"a":}',
        b'{"a":1,}',
        b"{1:2}",
        b"{'a':1}",
        b'{"a":NaN}',
        b'{"a":01}',
        b'{"a":"\xff"}',
        b'{"a":' + b"[" * 100_000,
    ],
)
def test_what_is_not_exactly_one_object_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        rawjson.members(raw)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[", b"[1,]", b"[1 2]", b"[1]]", b"[,]"])
def test_what_is_not_exactly_one_list_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        rawjson.elements(raw)


@given(values)
def test_depth_counts_open_brackets_and_not_those_in_strings(value: object) -> None:
    def depth(value: object) -> int:
        if isinstance(value, dict):
            return 1 + max(map(depth, value.values()), default=0)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - drawn JSON
        if isinstance(value, list):
            return 1 + max(map(depth, value), default=0)  # pyright: ignore[reportUnknownArgumentType] - drawn JSON
        return 0

    text, levels = json.dumps(value).encode(), depth(value)
    assert not rawjson.is_deeper(text, levels)
    assert levels == 0 or rawjson.is_deeper(text, levels - 1)
    tricky = b'["[[\\"{", {"]": []}]'
    assert rawjson.is_deeper(tricky, 2)
    assert not rawjson.is_deeper(tricky, 3)
