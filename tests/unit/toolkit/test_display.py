"""The line somebody approves: exact, whole where it fits, and never without its end."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.fisk import display
from fisk_ai.toolkit.fisk.argv import Line
from fisk_ai.toolkit.gate import IN_DOUBT_PREFIX

QUESTION_LIMIT = 2_000
MARK = re.compile(r"\.\.\.\(\d+ more\)\.\.\.")

VALUE = st.text(
    st.sampled_from([*" -='\\ab", "\u200b", "\n", "\u2800"])
    | st.characters(exclude_categories=["Cs"]),
    max_size=12,
)
FLAG_NAMES = ["--a=", "--note="]


def repeated(text: str, times: int) -> str:
    return text * times


def flagged(name: str, value: str) -> str:
    return name + value


def composed(flags: list[str], positionals: list[str]) -> Line:
    return Line(path=("rm", "it"), flags=tuple(flags), positionals=tuple(positionals))


def lines(value: st.SearchStrategy[str], most: int = 6) -> st.SearchStrategy[Line]:
    flag = st.builds(flagged, st.sampled_from(FLAG_NAMES), value) | st.just("--force")
    positional = value.filter(lambda word: word != "--")
    return st.builds(composed, st.lists(flag, max_size=most), st.lists(positional, max_size=most))


LONG = st.builds(repeated, VALUE, st.integers(0, 400))


def a_line(*positionals: str, flags: tuple[str, ...] = ()) -> Line:
    return Line(path=("rm",), flags=flags, positionals=positionals)


@given(lines(VALUE, 3), lines(VALUE, 3))
@example(a_line("a b"), a_line("a", "b"))
@example(a_line("a", flags=("--x=y --", "--z")), a_line("--z", "--", "a", flags=("--x=y",)))
def test_two_command_lines_never_look_the_same(one: Line, other: Line) -> None:
    assume(one.words != other.words)
    assert display.full(one) != display.full(other)


@given(lines(VALUE, 3))
def test_nothing_a_value_says_looks_like_something_left_out(line: Line) -> None:
    said = [*line.positionals, "x...(5 more)...y", "...(2 words not shown)..."]
    shown = display.full(Line(path=line.path, flags=line.flags, positionals=tuple(said)))
    assert "'x...(5 more)...y' '...(2 words not shown)...'" in shown


@given(lines(LONG))
def test_a_line_is_printable_bounded_and_survives_the_question(line: Line) -> None:
    for shown in (display.full(line), display.short(line)):
        assert shown.isprintable()
        asked = IN_DOUBT_PREFIX + shown
        assert for_terminal(asked, QUESTION_LIMIT) == asked
        assert len(shown) <= display.LINE_LIMIT


@given(lines(st.text(st.characters(exclude_categories=["Cs"]), max_size=3000), 25))
def test_up_to_fifty_words_of_any_length_are_all_visible(line: Line) -> None:
    shown = display.full(line)
    outside = re.sub(r"'(?:[^'\\]|\\.)*'", "''", shown)
    assert "not shown" not in outside
    assert MARK.sub("", outside).count(" ") == len(line.words) - 1


@pytest.mark.parametrize("count", [900, 5_000])
def test_a_line_of_too_many_words_says_how_many_are_missing_and_keeps_its_target(
    count: int,
) -> None:
    flags = tuple(f"--label={number}" for number in range(count))
    shown = display.full(a_line("prod", flags=flags)).split(" ")
    assert shown[:2] == ["rm", "--label=0"]
    assert shown[-2:] == ["--", "prod"]
    missing = shown.index("words") - 1
    assert len(shown) - 4 + int(shown[missing].removeprefix("...(")) == count + 3


def test_a_line_that_fits_is_never_cut() -> None:
    value = "x" * (display.LINE_LIMIT - len("rm -- "))
    assert display.full(a_line(value)) == f"rm -- {value}"
    assert "more)..." in display.full(a_line(value + "x"))


def test_three_megabytes_are_shown_in_a_moment() -> None:
    words = tuple("\u200b\u0301 " for _ in range(1_000_000))
    assert "words not shown" in display.full(a_line(*words))
    assert "(2999" in display.full(a_line("\u200b" * 3_000_000, "prod"))
