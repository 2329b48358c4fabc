from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text import gojson
from fisk_ai.text.gojson import RawJSON

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_what_was_written_reads_back_equal(value: object) -> None:
    written = json.loads(gojson.dumps(value), parse_int=float)
    assert written == json.loads(json.dumps(value), parse_int=float)


@given(plain)
def test_written_text_is_compact_and_free_of_html_and_line_ends(value: object) -> None:
    written = gojson.dumps(value)
    assert gojson.compact(written) == written
    assert not set("<>&\u2028\u2029\n") & set(written.decode())


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("<b>&</b>", r'"\u003cb\u003e\u0026\u003c/b\u003e"'),
        ("\u2028\u2029", r'"\u2028\u2029"'),
        ("\b\f\n\r\t\x00\x1f\x7f", r'"\b\f\n\r\t\u0000\u001f' + '\x7f"'),
        ("é😀\u0085\ufeff\ufffe", '"é😀\u0085\ufeff\ufffe"'),
        ("cut \ud83d off", '"cut \ufffd off"'),
        ({"b": 1, "<": [True, False, None]}, r'{"b":1,"\u003c":[true,false,null]}'),
        ((), "[]"),
        ({}, "{}"),
    ],
)
def test_text_is_spelled_as_go_spells_it(value: object, written: str) -> None:
    assert gojson.dumps(value).decode() == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (123456789.5, "123456789.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.25e-9, "-1.25e-9"),
        (5e-324, "5e-324"),
        (2**64 - 1, "18446744073709551615"),
        (True, "true"),
    ],
)
def test_numbers_are_spelled_as_go_spells_them(value: object, written: str) -> None:
    assert gojson.dumps(value).decode() == written


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"bytes", object(), {"a": [...]}])
def test_what_has_no_json_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="no JSON form"):
        gojson.dumps(value)


def test_a_value_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        gojson.dumps(endless)


def test_embedded_text_keeps_its_spelling_and_loses_its_spaces() -> None:
    raw = RawJSON(rb'{ "z" : 1.0, "a":1e3 , "a" : -0, "<k>": "\/ \u00e9 \ud800 a b <\" >" }')
    assert gojson.dumps([raw]) == (
        rb'[{"z":1.0,"a":1e3,"a":-0,"\u003ck\u003e":'
        rb'"\/ \u00e9 \ud800 a b \u003c\" \u003e"}]'
    )


def test_compacting_leaves_strings_alone() -> None:
    raw = b' { "a b" : [ 1 ,\n\t2 ] , "c\\" d" : " \\\\" } \r\n'
    assert gojson.compact(raw) == b'{"a b":[1,2],"c\\" d":" \\\\"}'


def test_keys_are_sorted_at_every_depth_by_code_point() -> None:
    value = {"b": [{"z": 1, "A": 2}], "\uffff": 0, "\U00010000": 0, "a": {"d": 1, "c": 2}}
    assert gojson.dumps(gojson.sort_deep(value)).decode() == (
        '{"a":{"c":2,"d":1},"b":[{"A":2,"z":1}],"\uffff":0,"\U00010000":0}'
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e999",
        b"9" * 5000,
        b"[" * 100_000,
        b'"\xff"',
        b'"\n"',
        b"{",
        b"",
        b"{}{}",
        b"\xef\xbb\xbf{}",
        "{'a':1}",
    ],
)
def test_what_is_not_json_is_refused(raw: bytes | str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        gojson.loads(raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\uDE00\ud83d"', "\ufffd\ufffd"),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"\\ud83d"', r"\ud83d"),
        (rb'{"\ud800":1}', {"\ufffd": 1}),
        ('"\ud83d"', "\ufffd"),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b" [1.5, -0, 18446744073709551615] ", [1.5, 0, 2**64 - 1]),
        (rb'"\u0008\u000c"', "\b\f"),
    ],
)
def test_reading_mends_surrogates_and_takes_the_last_duplicate(
    raw: bytes | str, value: object
) -> None:
    assert gojson.loads(raw) == value


@given(
    st.text(st.characters(codec=None)).map(json.dumps).map(str.encode)
    | st.text().map(gojson.dumps)
    | st.lists(
        st.sampled_from([b'"', b"\\", b"\\ud83d", b"\\ude00", b"\\u00", b"\xff", b"\n", b" ", b"a"])
    ).map(lambda parts: b'"' + b"".join(parts) + b'"')
)
def test_a_string_by_itself_is_read_as_any_value_is(raw: bytes) -> None:
    try:
        value = gojson.loads(raw)
    except ValueError:
        with pytest.raises(ValueError, match=r"\S"):
            gojson.loads_string(raw)
    else:
        assert gojson.loads_string(raw) == value


@pytest.mark.parametrize("raw", [b"null", b"1", b"true", b"[]", b'{"a":"b"}'])
def test_another_value_is_no_string(raw: bytes) -> None:
    with pytest.raises(ValueError, match="expected a string"):
        gojson.loads_string(raw)


def test_keys_and_embedded_text_are_escaped_like_strings() -> None:
    value = {"<\ud800>": RawJSON(b'{"&": "\xe2\x80\xa8"}')}
    assert gojson.dumps(value) == '{"\\u003c\ufffd\\u003e":{"\\u0026":"\\u2028"}}'.encode()
