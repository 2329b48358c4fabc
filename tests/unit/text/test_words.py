r"""A word as it is shown to somebody who decides about it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fisk_ai.text import sanitise, words

UNSEEN = "\u200b\u00ad\u3164\u2800\u2060\ufe0f\u034f\u115f\U000e0041\ue000\u00a0\u2028\x1b\n\t\x00"
PART = r"('(?:[^'\\]|\\.)*'|[^' ]*)"
ELIDED = re.compile(rf"{PART}\.\.\.\((\d+) more\)\.\.\.{PART}")
WORD = st.text(
    st.sampled_from([*" 'a\\u{20}\"(.", *UNSEEN, "\u0301", "é"])
    | st.characters(exclude_categories=["Cs"]),
    max_size=30,
)


def read(shown: str) -> str:
    """Read one shown word back, as a person who knows the three escapes would."""
    if not shown.startswith("'"):
        return shown
    inside, said = shown[1:-1], ""
    while inside:
        if inside.startswith("\\u{"):
            code, _, inside = inside[3:].partition("}")
            said += chr(int(code, 16))
        else:
            inside = inside.removeprefix("\\") if inside[:2] in ("\\\\", "\\'") else inside
            said, inside = said + inside[0], inside[1:]
    return said


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("prod", "prod"),
        ("-hi", "-hi"),
        ("--name=value", "--name=value"),
        ("a/b:c@d,e;f*$g", "a/b:c@d,e;f*$g"),
        ("größe", "größe"),
        ("हिन्दी", "हिन्दी"),
        ("e\u0301", "e\u0301"),
        ("", "''"),
        (" ", "' '"),
        ("x --dry-run", "'x --dry-run'"),
        ("a   b", r"'a \u{20} b'"),
        ("it's", r"'it\'s'"),
        ('say "x"', "'say \"x\"'"),
        ("`x`", "'`x`'"),
        ("a\\b", r"'a\\b'"),
        (r"\u{200b}", r"'\\u{200b}'"),
        ("a...(3 more)...b", "'a...(3 more)...b'"),
        ("\u0301a", r"'\u{301}a'"),
        ("\u3164\u0301", r"'\u{3164}\u{301}'"),
    ],
)
def test_only_a_word_that_could_be_misread_is_quoted(word: str, shown: str) -> None:
    assert words.shown(word) == shown


@pytest.mark.parametrize("char", UNSEEN)
def test_a_character_without_a_shape_is_shown_by_its_number(char: str) -> None:
    assert words.shown(f"a{char}b") == f"'a\\u{{{ord(char):x}}}b'"


@given(WORD)
@example("\\u{20}")
@example("a\\' b")
def test_every_word_can_be_read_back_from_what_is_shown(word: str) -> None:
    assert read(words.shown(word)) == word


@given(WORD)
def test_a_shown_word_is_printable_and_a_terminal_changes_nothing_of_it(word: str) -> None:
    shown = words.shown(word)
    assert shown.isprintable()
    assert not set(UNSEEN) & set(shown)
    assert sanitise.for_terminal(shown, len(shown)) == shown


@given(WORD | st.text(max_size=400), st.integers(4, 300))
def test_an_elided_word_keeps_both_ends_and_counts_the_rest(word: str, room: int) -> None:
    elided = words.elided(word, room)
    assert len(elided) <= min(len(words.shown(word)), room + 60)
    assert elided.isprintable()
    if elided == words.shown(word):
        return
    head, count, tail = ELIDED.fullmatch(elided).groups()  # pyright: ignore[reportOptionalMemberAccess] - a mismatch fails the test
    assert word.startswith(read(head))
    assert word.endswith(read(tail))
    assert len(read(head)) + int(count) + len(read(tail)) == len(word)


def test_a_long_plain_word_keeps_what_fits() -> None:
    assert words.elided("x" * 60, 12) == "xxxxxxxx...(48 more)...xxxx"
    assert words.elided("a b" * 60, 12) == "'a ba ba '...(168 more)...'ba b'"
