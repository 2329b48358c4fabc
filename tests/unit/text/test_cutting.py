from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fisk_ai.text.duration import go_duration
from fisk_ai.text.trim import AROUND_BYTES, closing_fence, first_bytes, last_bytes, utf8_prefix


@given(st.text(), st.integers(-1, 40))
def test_a_prefix_is_the_longest_that_fits_and_cuts_no_character(text: str, limit: int) -> None:
    prefix = utf8_prefix(text, limit)
    assert text.startswith(prefix)
    assert len(prefix.encode()) <= max(limit, 0)
    if prefix != text:
        assert len(text[: len(prefix) + 1].encode()) > limit


@given(st.text(), st.integers(0, 40))
def test_the_ends_of_encoded_text_are_the_longest_that_fit_and_cut_no_character(
    text: str, size: int
) -> None:
    data = text.encode()
    assert first_bytes(data, size).decode() == utf8_prefix(text, size)
    end = last_bytes(data, size).decode()
    assert text.endswith(end)
    assert len(end.encode()) <= size
    if end != text:
        assert len(text[len(text) - len(end) - 1 :].encode()) > size


@given(st.binary(), st.integers(0, 40))
def test_the_ends_of_any_bytes_lack_at_most_a_part_of_one_character(data: bytes, size: int) -> None:
    fitting = min(size, len(data))
    for whole, end in (
        (data[:fitting], first_bytes(data, size)),
        (data[len(data) - fitting :], last_bytes(data, size)),
    ):
        assert end in whole
        assert len(whole) - len(end) <= AROUND_BYTES


def test_a_prefix_of_mended_text_can_be_encoded() -> None:
    assert utf8_prefix("a\ud83db", 4) == "a\ufffd"


NOTE = "[trimmed]"
WRITTEN = [
    "text `a`\n",
    "text\n\n",
    "```py\nx = 1\n```\n",
    "~~~~ a`b\n```\n~~~~\n\n",
    "`````\n````\nü\n`````\n\n",
    "1. do\n\n   ```sh\n   ls\n   ```\n\n",
    "- ```\n  x\n\n  y\n  ```\n",
    "- a\n  - b\n\n    ```\n    c\n    ```\n",
    "> ```\n> x\n> ```\n",
]
LOOSE = ["```", "~~~", "````py", "  ```", "x", "", "``` `", "~~~~"]
ANSWER = st.lists(st.sampled_from(WRITTEN)).map("".join) | st.lists(st.sampled_from(LOOSE)).map(
    "\n".join
)


def is_code(text: str, said: str) -> bool:
    tokens = MarkdownIt("commonmark").parse(text)
    return any(said in each.content for each in tokens if each.type in ("fence", "code_block"))


@given(ANSWER, st.integers(0, 200))
def test_what_follows_a_cut_is_never_part_of_a_block_of_code(answer: str, size: int) -> None:
    kept = utf8_prefix(answer, size)
    assert not is_code(f"{kept}{closing_fence(kept)}\n{NOTE}", NOTE)


@given(ANSWER)
def test_a_text_that_is_over_gets_no_fence(answer: str) -> None:
    if not is_code(f"{answer}\n{NOTE}", NOTE):
        assert closing_fence(answer) == ""


@pytest.mark.parametrize(
    ("text", "closing"),
    [
        ("```py\nx", "\n```"),
        ("```py\n", "```"),
        ("`````\n```\n````", "\n`````"),
        ("~~~ a`b\n```\nx", "\n~~~"),
        ("1. a\n\n   ```\n   x", "\n   ```"),
        ("``` a ` b\nx", ""),
        ("```\r\nx\r\n```\r\ny", ""),
        ("``", ""),
    ],
)
def test_an_open_fence_is_closed_by_one_of_its_kind(text: str, closing: str) -> None:
    assert closing_fence(text) == closing


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.05, "50ms"),
        (300, "5m0s"),
        (1.5, "1.5s"),
        (3600, "1h0m0s"),
        (86_399.25, "23h59m59.25s"),
        (0.0000015, "1.5µs"),
        (1e-9, "1ns"),
        (1e-10, "0s"),
        (-2, "-2s"),
        (0.9999999999, "1s"),
        (360_000, "100h0m0s"),
    ],
)
def test_a_duration_is_spelled_as_go_spells_it(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
