"""Boxes and documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fisk_ai.render.tables import Document, cell_width, cut, fitted, table, within


def test_a_table_is_a_rounded_box_with_a_header() -> None:
    assert table(("ID", "Status"), [("a", "open"), ("long-id", "")]).splitlines() == [
        "╭─────────┬────────╮",
        "│ ID      │ Status │",
        "├─────────┼────────┤",
        "│ a       │ open   │",
        "│ long-id │        │",
        "╰─────────┴────────╯",
    ]


@given(st.lists(st.tuples(st.text("aé漢\u0301 "), st.text("x😀")), max_size=5))
def test_every_line_of_a_table_is_as_wide_as_the_others(rows: list[tuple[str, str]]) -> None:
    widths = {cell_width(line) for line in table(("A", "B"), rows).splitlines()}
    assert len(widths) == 1


@pytest.mark.parametrize(
    "text",
    [
        "abc",
        "e\u0301",
        "漢字",
        "\u200b",
        "각",
        "\u1112\u1161\u11ab",
        "👩\u200d👧",
        "👍🏽",
        "❤\ufe0f",
        "…─",
    ],
)
def test_a_character_takes_the_columns_that_a_terminal_gives_it(text: str) -> None:
    assert cell_width(text) == cell_len(text)


@given(st.text("aé漢\u0301\u200d\ufe0f😀👧❤"), st.integers(1, 12))
def test_a_cut_text_is_no_wider_than_asked(text: str, width: int) -> None:
    assert cell_width(cut(text, width)) <= width


def test_a_document_aligns_its_labels_and_leaves_out_what_is_empty() -> None:
    page = Document("Session x")
    page.item("Status", "open")
    page.item("Model", "one\ntwo")
    page.optional("Caller", "")
    page.section("Prompt", ["say moo"])
    page.section("Waiting on", [])
    assert page.text().splitlines() == [
        "Session x:",
        "",
        "  Status: open",
        "   Model: one",
        "          two",
        "",
        "  Prompt:",
        "",
        "    say moo",
    ]


@given(
    st.lists(st.tuples(st.text("aé漢\u0301 "), st.text("x😀")), max_size=5),
    st.integers(0, 40),
)
def test_a_fitted_table_is_no_wider_than_its_terminal(
    rows: list[tuple[str, str]], width: int
) -> None:
    fitting = fitted(("A", "B"), rows, width=width, least={1: 3, 0: 2})
    if fitting is not None:
        assert all(cell_width(line) <= width for line in table(("A", "B"), fitting).splitlines())
    smallest = max([1, *(min(cell_width(row[0]), 2) for row in rows)])
    smallest += max([1, *(min(cell_width(row[1]), 3) for row in rows)])
    assert (fitting is None) == (width < smallest + 7)


def test_the_first_column_named_gives_way_first() -> None:
    rows = [("abcdef", "abcdef")]
    assert fitted(("A", "B"), rows, width=17, least={1: 3, 0: 3}) == [["abcdef", "abc…"]]
    assert fitted(("A", "B"), rows, width=15, least={1: 3, 0: 3}) == [["abcd…", "ab…"]]


def test_a_cut_text_fits_and_shows_that_it_was_cut() -> None:
    assert cut("漢字漢字", 8) == "漢字漢字"
    assert cut("漢字漢字", 6) == "漢字…"


@given(
    rows=st.lists(st.lists(st.text("ab 喜é", max_size=30), min_size=4, max_size=4), min_size=1),
    width=st.integers(12, 90),
)
def test_a_table_stays_within_its_width_but_for_what_is_never_cut(
    rows: list[list[str]], width: int
) -> None:
    header = ("Session", "Call", "Kind", "Question")
    text = within(header, rows, width=width, least={3: 8}, whole=2)
    kept = {cell for row in rows for cell in (row[0], f"  {row[1]}")}
    for line in text.splitlines():
        assert cell_width(line) <= width or line in kept
    for row in rows:
        assert row[0] in text
        assert row[1] in text
