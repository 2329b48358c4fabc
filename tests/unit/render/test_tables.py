"""Boxes and documents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.render.tables import Document, cell_width, table


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
