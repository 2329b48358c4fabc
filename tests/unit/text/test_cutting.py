from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text.duration import go_duration
from fisk_ai.text.trim import utf8_prefix


@given(st.text(), st.integers(-1, 40))
def test_a_prefix_is_the_longest_that_fits_and_cuts_no_character(text: str, limit: int) -> None:
    prefix = utf8_prefix(text, limit)
    assert text.startswith(prefix)
    assert len(prefix.encode()) <= max(limit, 0)
    if prefix != text:
        assert len(text[: len(prefix) + 1].encode()) > limit


def test_a_prefix_of_mended_text_can_be_encoded() -> None:
    assert utf8_prefix("a\ud83db", 4) == "a\ufffd"


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
