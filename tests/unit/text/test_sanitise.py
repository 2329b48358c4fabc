from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text import sanitise

ESCAPES = ["\x1b", "\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;x\x1b\\", "\x1b[", "\x1b]", "\x9b31m"]
hostile = st.lists(
    st.text(st.characters(codec=None), max_size=4)
    | st.sampled_from([*ESCAPES, "\u202e", "\u2066", "\ud83d", "\u2028", "\x85", "\x00", "\n"])
).map("".join)


def _has_control(text: str, *, but: str = "") -> bool:
    return any(unicodedata.category(c) in ("Cc", "Cs") and c not in but for c in text)


@given(hostile, st.integers(0, 30))
def test_a_terminal_line_is_one_bounded_line_without_controls(text: str, limit: int) -> None:
    line = sanitise.for_terminal(text, limit)
    assert not _has_control(line)
    assert len(line) <= limit + 1
    assert line.removesuffix("…") in sanitise.for_terminal(text, len(text))
    assert not {"\u202e", "\u2066", "\u2028"} & set(line)
    line.encode()


@given(hostile)
def test_a_shown_text_keeps_newline_and_tab_and_no_other_control(text: str) -> None:
    shown = sanitise.for_display(text)
    assert not _has_control(shown, but="\n\t")
    assert not {"\u202e", "\u2066"} & set(shown)
    shown.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[?25l\x1b[1;2 qx", "x"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]unfinished", "unfinished"),
        ("\x1b[31", "31"),
        ("\x1b[>0c", ">0c"),
        ("\x1bcreset", "reset"),
        ("end\x1b", "end"),
        ("\x1b\nnext", "next"),
        ("\x1b\x1b[31mx", "[31mx"),
        ("a\x00b\x7fc\x9bd", "a b c d"),
        ("  a \u00a0\u2028\t b\r\n", "a b"),
        ("a\u202eb\u2066c", "abc"),
        ("\ud83d", "\ufffd"),
    ],
)
def test_escapes_go_and_white_space_collapses(text: str, line: str) -> None:
    assert sanitise.for_terminal(text, 100) == line


def test_escapes_go_before_the_cut() -> None:
    assert sanitise.for_terminal("ab\x1b[31mcd", 3) == "abc…"
    assert sanitise.for_terminal("abc", 3) == "abc"
    assert sanitise.for_terminal("😀😀😀", 2) == "😀😀…"


def test_a_shown_text_is_neither_trimmed_nor_cut() -> None:
    assert sanitise.for_display("  a\r\n\tb\x1b[2J\x07  ") == "  a \n\tb   "


@pytest.mark.parametrize(
    ("text", "cut"), [("abc", "abc"), ("abcd", "abc..."), ("😀😀😀😀", "😀😀😀..."), ("", "")]
)
def test_truncating_counts_code_points(text: str, cut: str) -> None:
    assert sanitise.truncate(text, 3) == cut


def test_only_what_gets_shorter_is_elided() -> None:
    assert sanitise.elide_middle("x" * 19) == "x" * 19
    assert sanitise.elide_middle("0123456789abcdefghij") == "0123456789...efghij"


def test_surrogates_are_mended_one_by_one() -> None:
    assert sanitise.clean_surrogates("a\ud83d\ude00b😀") == "a\ufffd\ufffdb😀"


@pytest.mark.parametrize("text", ["plain", "é", "\ud83d"])
def test_text_of_a_class_of_its_own_becomes_plain_text(text: str) -> None:
    class Marked(str):
        __slots__ = ()

    assert type(sanitise.clean_surrogates(Marked(text))) is str
