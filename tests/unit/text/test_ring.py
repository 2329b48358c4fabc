from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text.ring import MARKER, RingBuffer


def _kept(data: bytes, head: int, tail: int) -> tuple[bytes, bool]:
    if len(data) <= head:
        return data, False
    return data[: head - tail] + MARKER + data[-tail:], True


@given(
    st.lists(st.binary(max_size=30), max_size=30),
    st.integers(1, 20).flatmap(lambda head: st.tuples(st.just(head), st.integers(1, head))),
)
def test_a_ring_keeps_what_the_whole_stream_would_be_cut_to(
    chunks: list[bytes], sizes: tuple[int, int]
) -> None:
    ring = RingBuffer(*sizes)
    for chunk in chunks:
        ring.write(chunk)
    assert ring.render() == _kept(b"".join(chunks), *sizes)


@pytest.mark.parametrize("size", [0, 65_536, 65_537, 318_000, 10_000_000])
def test_command_output_of_any_size_is_bounded_to_its_ends(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    ring = RingBuffer()
    for start in range(0, size, 60_000):
        ring.write(data[start : min(size, start + 60_000)])
    kept, truncated = ring.render()
    assert (kept, truncated) == _kept(data[:size], 65_536, 32_768)
    assert len(kept) <= 65_536 + len(MARKER)


def test_the_marker_is_the_text_models_are_told_of() -> None:
    ring = RingBuffer(4, 2)
    ring.write(b"abcdefgh")
    assert ring.render() == (b"ab\n...[output truncated]...\ngh", True)


@pytest.mark.parametrize("sizes", [(4, 0), (4, 5), (0, 0)])
def test_a_tail_outside_the_head_is_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="cannot keep a tail"):
        RingBuffer(*sizes)
