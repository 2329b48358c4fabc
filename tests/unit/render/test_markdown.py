"""Every word of an answer is on the screen, whatever markdown makes of it."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from fisk_ai.render import effort
from fisk_ai.render.effort import STEPS_LIMIT, TooMuchWorkError
from fisk_ai.render.literal import COLOURED_COLUMNS, COLOURED_LIMIT, LiteralMarkdown
from fisk_ai.render.markdown import STYLED_LIMIT, styled
from fisk_ai.render.tables import cell_width

_WORD = re.compile(r"[a-z]+")


def _screen(text: str, width: int = 80) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", styled(text, width=width))


def _flowing(text: str, width: int = 80) -> str:
    return " ".join(_screen(text, width).split())


@pytest.mark.parametrize(
    "text",
    [
        "git push <remote> <branch>",
        "a vector<int> of them",
        "before <!-- note --> behind",
        "press <kbd>Enter</kbd>",
        "https://auto.link/<id>?x=1",
        "an <a href='_x_'>attribute</a> with marks",
        "[text][1] and [1]",
        "[1]: http://ref.example",
    ],
)
def test_what_looks_like_html_or_a_reference_is_shown_as_written(text: str) -> None:
    assert _screen(text) == text


@pytest.mark.parametrize(
    "block",
    [
        "<details>\n<summary>More</summary>\n  a *hidden* line\n</details>",
        "<!-- a comment\nof two lines -->",
        "<?xml version='1.0'?>",
        "<config>\n  <a>1</a>\n</config>",
        "<script>\nif (a < b) alert()\n</script>",
    ],
)
def test_blocks_of_html_keep_their_lines(block: str) -> None:
    assert _screen(f"before\n\n{block}\n\nbehind") == f"before\n\n{block}\n\nbehind"


def test_an_unclosed_comment_hides_nothing_behind_it() -> None:
    assert "and **the** rest" in _screen("<!-- open\n\nand **the** rest")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[page](http://u/ü "its title")', 'page (http://u/ü "its title")'),
        ("![a cow](http://x.y/cow.png)", "!a cow (http://x.y/cow.png)"),
        ("[![ok](b.svg)](http://ci)", "[!ok (b.svg)](http://ci)"),
        ('```sh title="<name>"\necho\n```', 'sh title="<name>" echo'),
    ],
)
def test_what_belongs_to_a_link_a_picture_or_code_is_shown(text: str, words: str) -> None:
    assert _flowing(text) == words


def test_a_language_behind_a_fence_is_no_text() -> None:
    assert _flowing("```python\nx = 1\n```") == "x = 1"


def test_html_in_the_cells_of_a_table_is_shown() -> None:
    table = "| type | means |\n|---|---|\n| vector<int> | a<br>b |"
    assert "vector<int>" in _flowing(table)
    assert "a<br>b" in _flowing(table)
    assert "|" not in _flowing(table)


def test_a_table_with_more_cells_than_headings_is_shown_as_written() -> None:
    table = "| a | b |\n|---|---|\n| `p|q` | r |"
    assert _screen(f"above\n\n{table}\n\nbelow") == f"above\n\n{table}\n\nbelow"


def test_a_wide_cell_is_folded_and_never_cut() -> None:
    long = "abcdefghij" * 9
    screen = _screen(f"| key | value |\n|---|---|\n| one | {long} |", width=50)
    assert "…" not in screen
    assert "|" not in screen
    assert long in "".join(screen.split())
    assert max(map(cell_width, screen.splitlines())) <= 50


def test_a_table_too_wide_to_read_is_shown_as_text() -> None:
    cells = [f"column{letter}" for letter in "abcdefghij"]
    row = f"| {' | '.join(cells)} |"
    screen = _flowing(f"{row}\n{'|---' * 10}|\n{row}", width=50)
    assert screen.count(row) == 2
    assert row not in _flowing(f"{row}\n{'|---' * 10}|\n{row}", width=150)


def test_what_is_nested_too_deep_for_the_screen_is_shown_as_written() -> None:
    deep = "> " * 30 + "word"
    assert _screen(deep, width=40) == deep


@pytest.mark.parametrize("width", [20, 50, 150])
def test_lines_use_the_width_and_no_more(width: int) -> None:
    lines = _screen("word " * 100, width).splitlines()
    assert width - 5 < max(map(len, lines)) <= width


_words = st.text("abcxyz", min_size=1, max_size=6)
_hostile = st.one_of(
    _words,
    *(_words.map(form.format) for form in ("<{}>", "</{}>", "vector<{}>", "<!-- {} -->", "<!--{}")),
    *(_words.map(form.format) for form in ("**{}**", "`{}`", "<{0} {0}='{0}'>", "&lt;{}&gt;")),
    *(_words.map(form.format) for form in ("[{0}]({0})", "[{0}]: {0}", "![{0}]({0} '{0}')")),
    st.sampled_from(
        ["\n", "\n\n", "\n- ", "\n> ", "\n# ", "\n1. ", " | ", "\n|--|--|\n", "\n    "]
    ),
    st.sampled_from(["\n```\n", "<", ">", "<?", "<!", "<![CDATA[", "\\", "*", "_", "~~"]),
)


@settings(max_examples=150)
@given(st.lists(_hostile, max_size=25).map(" ".join), st.integers(min_value=20, max_value=120))
def test_every_word_is_on_the_screen(text: str, width: int) -> None:
    shown = "".join(_screen(text, width).split())
    for word in _WORD.findall(text.replace("&lt;", "<").replace("&gt;", ">")):
        assert word in shown


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("<https://x.example/a>", "https://x.example/a"),
        ("<a@b.example>", "a@b.example"),
        ("<mailto:a@b.example>", "mailto:a@b.example"),
        ("[https://x.example/a_b](https://x.example/a_b)", "https://x.example/a_b"),
        ("[`https://x.example`](https://x.example)", "https://x.example"),
        ("[a@b.example](mailto:a@b.example)", "a@b.example"),
        ("[https://x.example](https://y.example)", "https://x.example (https://y.example)"),
        ('[https://x](https://x "t")', 'https://x (https://x "t")'),
        ("[text](https://x.example)", "text (https://x.example)"),
    ],
)
def test_a_link_whose_text_is_its_address_shows_it_once(link: str, shown: str) -> None:
    assert _screen(f"see {link} there") == f"see {shown} there"


def _colours(block: str, language: str) -> int:
    """Count the styles that a block of code is shown in, beside the background."""
    shown = styled(f"```{language}\n{block}\n```", width=300)
    return len(set(re.findall(r"\x1b\[([0-9;]*)m", shown)))


_CODE = "for name in (1, 'two'):\n    pass  # so\n"
_PLAIN = _colours(_CODE, "text")


def test_a_block_of_code_in_a_known_language_is_coloured() -> None:
    assert _colours(_CODE, "python") > _PLAIN
    assert _colours(_CODE, "Python") > _PLAIN


@pytest.mark.parametrize(
    ("block", "language"),
    [
        (_CODE, "perl"),
        (_CODE, "nonsense"),
        (_CODE * (COLOURED_LIMIT // len(_CODE) + 1), "python"),
        (_CODE + "x" * (COLOURED_COLUMNS + 1), "python"),
    ],
    ids=["other language", "no language", "large", "long line"],
)
def test_a_block_that_could_take_long_to_colour_is_plain_and_whole(
    block: str, language: str
) -> None:
    assert _colours(block, language) == _PLAIN
    shown = _screen(f"```{language}\n{block}\n```", width=1000)
    assert sum(map(str.isalpha, shown)) == sum(map(str.isalpha, block))


def test_no_more_than_two_large_blocks_of_a_text_are_coloured() -> None:
    block = (_CODE * (COLOURED_LIMIT // len(_CODE))).rstrip()
    one = styled(f"```python\n{block}\n```", width=80).count("\x1b[")
    two, three = (
        styled("\n\n".join([f"```python\n{block}\n```"] * count), width=80).count("\x1b[")
        for count in (2, 3)
    )
    assert two > 1.9 * one
    assert three < 2.9 * one


_TOO_MUCH_TO_READ = "a\\\n> ```\n" * 500
_TOO_MUCH_TO_DRAW = "|a" * 9 + "\n" + "|-" * 9 + "\n" + "x\n" * 400


@pytest.mark.parametrize(
    "text",
    [_TOO_MUCH_TO_READ, _TOO_MUCH_TO_DRAW],
    ids=["to read", "to draw"],
)
def test_a_text_that_takes_long_beyond_its_size_is_given_up_and_shown_as_written(
    text: str,
) -> None:
    with pytest.raises(TooMuchWorkError):
        LiteralMarkdown(text)
    assert styled(text, width=80) == text


@settings(max_examples=20, deadline=None)
@given(st.lists(_hostile, min_size=1, max_size=4).map("".join))
def test_no_text_takes_more_steps_than_are_afforded(unit: str) -> None:
    taken = 0

    def count(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the parser's form of a rule
        nonlocal taken
        del state, start, end, silent
        taken += 1
        return False

    parser = MarkdownIt().enable("table")
    effort.bound(parser)
    chains = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("steps", "count", count, {"alt": chains})
    with contextlib.suppress(TooMuchWorkError):
        parser.parse((unit * STYLED_LIMIT)[:STYLED_LIMIT])
    assert taken <= STEPS_LIMIT + 1


def test_a_long_page_of_usual_markdown_is_styled() -> None:
    page = (
        "# A title\n\nSome *words* of a sentence and `code`, [a link](https://x.example).\n\n"
        "- the first of two things\n- the second of them\n\n> so it is\n\n"
        "| a heading | another |\n|---|---|\n| what is in a cell | and in the next |\n\n"
    )
    text = page * (STYLED_LIMIT // len(page))
    assert styled(text, width=80) != text
