"""The fast cut and the careful one give the same, whatever the text is."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fisk_ai.text import cursor, rawjson
from fisk_ai.text.gojson import RawJSON, as_text

SPELLINGS = [
    "NaN",
    "-Infinity",
    "-",
    "01",
    "-0",
    "-0.0",
    "1.",
    "1.e3",
    ".5",
    "1e",
    "1e+",
    "1E+400",
    "+1",
    "1_0",
    "0x1",
    "true",
    "nul",
    "[1,]",
    "[,1]",
    "{,}",
    '{"a"}',
    "{a:1}",
    "{1:2}",
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '"\\x"',
    '"\\u12"',
    '"\\/"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\ude00\\ud83d"',
    '{"\\ud800":1,"\\udfff":2}',
    "/**/1",
    "[1]]",
    '"a',
    "]",
    "}",
    "\\",
    "\x00",
    "\xa0",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PIECES = st.lists(
    st.sampled_from([*'{}[],:"\\ \t\n\r', *SPELLINGS])
    | st.builds(json.dumps, VALUES, ensure_ascii=st.booleans(), indent=st.none() | st.just(1))
    | st.text(max_size=3),
    max_size=6,
).map("".join)
DEEP = "[" * 5000

Cut = Callable[[str], dict[str, RawJSON] | list[RawJSON]]


def result(cut: Cut, text: str) -> object:
    try:
        found = cut(text)
    except ValueError as exc:
        return str(exc)
    return list(found.items()) if isinstance(found, dict) else found


def assert_same(text: str) -> None:
    clean = as_text(text)
    assert result(rawjson.members, text) == result(cursor.members, clean)
    assert result(rawjson.elements, text) == result(cursor.elements, clean)


@given(st.sampled_from(["{}", "[]", '{"k":}', '{"k" : 1 , "j": }']), PIECES)
@settings(max_examples=500)
def test_any_text_inside_a_container_is_cut_alike(container: str, inner: str) -> None:
    assert_same(container[:-1] + inner + container[-1:])


@given(PIECES)
@example("\ufeff{}")
@example("{}\x00")
@example("\x0c{}")
@example('{"a":' + "9" * 5000 + "}")
@example(f'{{"a":{DEEP}')
def test_any_text_is_cut_alike(text: str) -> None:
    assert_same(text)


@given(VALUES, st.data())
@settings(max_examples=300)
def test_damaged_json_is_cut_alike(value: object, data: st.DataObject) -> None:
    text = json.dumps({"a": value, "b": [value]}, ensure_ascii=data.draw(st.booleans()))
    at = data.draw(st.integers(0, len(text)))
    width = data.draw(st.integers(0, 2))
    damage = data.draw(st.text(max_size=1) | st.sampled_from(SPELLINGS))
    assert_same(text[:at] + damage + text[at + width :])
