from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fisk_ai.errors import MemoryInputError
from fisk_ai.memory import value
from fisk_ai.memory.limits import (
    CONTENT_LIMIT_BYTES,
    DESCRIPTION_LIMIT,
    VALUE_LIMIT_BYTES,
    normal_description,
)
from fisk_ai.memory.store import Memory


def test_a_value_has_a_header_of_one_line_and_the_body_verbatim() -> None:
    assert value.dumps("Where the build notes live", "The body, verbatim.") == (
        b"---\ndescription: Where the build notes live\n---\n\nThe body, verbatim."
    )


def test_a_description_that_needs_quoting_stays_on_one_line() -> None:
    for text in ("- a: b", "# c", "'", '"', "x: " * 160, "\U0001f600" * 500, "\ufeff\ufffe", "| a"):
        lines = value.dumps(text, "").split(b"\n")
        assert (lines[0], lines[2], len(lines)) == (b"---", b"---", 5)
        assert value.loads(value.dumps(text, "")) == Memory(text, "")


@pytest.mark.parametrize(
    "header", ["description: plain", "description: 'plain'", '"description": "plain"']
)
def test_either_way_of_quoting_is_read(header: str) -> None:
    assert value.loads(f"---\n{header}\n---\n\nbody".encode()) == Memory("plain", "body")


@given(st.text(), st.text(st.characters(exclude_categories=("Cs",))))
@example("---", "\n---\n\n")
@example("null", "")
@example("~", "---\ndescription: x\n---\n")
@example("=", "")
@example("<<", "")
@example("0x1_0:3", "")
@example("a \U0010ffff\ufdd0\ue000 b", "\0\r\n")
def test_what_is_written_is_read(description: str, content: str) -> None:
    try:
        line = normal_description(description)
    except MemoryInputError:
        line = "d"
    data = value.dumps(line, content)
    assert value.loads(data) == Memory(line, content)
    assert data.split(b"\n", 3)[2] == b"---"


@given(st.binary())
@example(b"---\n---\n")
@example(b"---\n\n---\n")
@example(b"---\n---")
@example(b"---\n\xff: \xfe\n---\n")
def test_any_bytes_are_read_and_none_are_made_up(data: bytes) -> None:
    memory = value.loads(data)
    whole = data.decode(errors="replace")
    assert whole.endswith(memory.content)
    assert memory.description == "" or memory.content != whole


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_a_file_without_a_header_is_all_body(text: str) -> None:
    body = "x" + text
    assert value.loads(body.encode()) == Memory("", body)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff---\ndescription: x\n---\nb",
        "---\r\ndescription: x\n---\nb",
        "----\ndescription: x\n---\nb",
        "---\ndescription: x\nb",
        "---\ndescription: x\n--- \nb",
        "---\n---\nb",
        "---\n\n---\nb",
        "---\n# only a comment\n---\nb",
        "---\njust text\n---\nb",
        "---\n- description\n---\nb",
        "---\ndescription: [x\n---\nb",
        "---\ndescription: [x]\n---\nb",
        "---\ndescription: {x: y}\n---\nb",
        "---\ndescription: *unknown\n---\nb",
        "---\na: b\n...\nc: d\n---\nb",
        "---\ndescription: " + "[" * 2000 + "\n---\nb",
    ],
)
def test_what_carries_no_header_that_can_be_read_is_all_body(text: str) -> None:
    assert value.loads(text.encode()) == Memory("", text)


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("---\nother: 1\n---\nb", Memory("", "b")),
        ("---\nother: {a: [b]}\ndescription: x\n---\n\nb", Memory("x", "b")),
        ("---\ndescription:\n---\nb", Memory("", "b")),
        ("---\ndescription: ~\n---\nb", Memory("", "b")),
        ("---\ndescription: null\n---\nb", Memory("", "b")),
        ('---\ndescription: "null"\n---\nb', Memory("null", "b")),
        ("---\ndescription: 5\n---\nb", Memory("5", "b")),
        ("---\ndescription: yes\n---\nb", Memory("yes", "b")),
        ("---\ndescription: 2026-08-01\n---\nb", Memory("2026-08-01", "b")),
        ("---\ndescription: 12:30:45\n---\nb", Memory("12:30:45", "b")),
        ("---\ndescription: x\n---\n\n\n b", Memory("x", "\n b")),
        ("---\ndescription: x\n---\nb\n---\nc", Memory("x", "b\n---\nc")),
        ("---\ndescription: x\n---", Memory("x", "")),
        ("---\ndescription: x\n---\n", Memory("x", "")),
        ("---\ndescription: >\n  two\n  lines\n---\nb", Memory("two lines", "b")),
    ],
)
def test_a_header_written_by_hand_is_read_leniently(text: str, memory: Memory) -> None:
    assert value.loads(text.encode()) == memory


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert value.loads(b"---\ndescription: x\n---\n\na\xffb") == Memory("x", "a\ufffdb")


@pytest.mark.parametrize("character", ["\\", '"', "'", "\ufeff", "\uffff", "\U0001f600", "é", " "])
def test_the_largest_memory_fits_the_limit_of_a_stored_value(character: str) -> None:
    data = value.dumps(character * DESCRIPTION_LIMIT, "x" * CONTENT_LIMIT_BYTES)
    assert len(data) <= VALUE_LIMIT_BYTES
