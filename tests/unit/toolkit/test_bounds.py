"""What of a result goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text.ring import MARKER
from fisk_ai.toolkit.bounds import KEPT_BYTES, RESULT_LIMIT_BYTES, bounded

BETWEEN = MARKER.decode()


@pytest.mark.parametrize("character", ["x", "é", "😀"])
def test_a_result_of_the_limit_is_whole_and_one_byte_more_leaves_its_ends(character: str) -> None:
    largest = character * (RESULT_LIMIT_BYTES // len(character.encode()))
    assert bounded(largest) is largest
    cut = bounded(largest + "!")
    head, _, tail = cut.partition(BETWEEN)
    assert (largest + "!").startswith(head)
    assert tail.endswith(character + "!")
    assert len(cut.encode()) <= 2 * KEPT_BYTES + len(MARKER)


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40))
def test_a_cut_goes_through_no_character(text: str) -> None:
    long = text * (RESULT_LIMIT_BYTES // len(text.encode()) + 1)
    head, tail = bounded(long)[:5_000], bounded(long)[-5_000:]
    assert long.startswith(head)
    assert long.endswith(tail)
    cut = bounded(long)
    assert cut.count(BETWEEN) >= 1
    assert len(cut.encode()) > 2 * KEPT_BYTES - 8
