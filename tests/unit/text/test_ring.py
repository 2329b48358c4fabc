from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text.ring import MARKER, RingBuffer

PLAIN = st.binary(max_size=30).map(lambda data: bytes(byte & 0x7F for byte in data))
"""Bytes that are a character each."""

WORD = st.text("aé€😀", max_size=12)


def _kept(data: bytes, head: int, tail: int) -> tuple[bytes, bool]:
    if len(data) <= head:
        return data, False
    return data[: head - tail] + MARKER + data[-tail:], True


@given(
    st.lists(PLAIN, max_size=30),
    st.integers(1, 20).flatmap(lambda head: st.tuples(st.just(head), st.integers(1, head))),
)
def test_a_ring_keeps_what_the_whole_stream_would_be_cut_to(
    chunks: list[bytes], sizes: tuple[int, int]
) -> None:
    ring = RingBuffer(*sizes)
    for chunk in chunks:
        ring.write(chunk)
    assert ring.render() == _kept(b"".join(chunks), *sizes)


@given(WORD, WORD, st.integers(1, 12).flatmap(lambda h: st.tuples(st.just(h), st.integers(1, h))))
def test_a_ring_cuts_no_character_and_drops_no_other_than_the_cut_one(
    start: str, end: str, sizes: tuple[int, int]
) -> None:
    head, tail = sizes
    text = start + "x" * head + end
    data = text.encode()
    ring = RingBuffer(head, tail)
    for at in range(0, len(data), 2):
        ring.write(data[at : at + 2])
    kept, truncated = ring.render()
    if not truncated:
        assert kept == data
        return
    front, back = kept.decode().split(MARKER.decode())
    assert text.startswith(front)
    assert text.endswith(back)
    assert len(front.encode()) <= head - tail < len(text[: len(front) + 1].encode())
    assert len(back.encode()) <= tail < len(text[-len(back) - 1 :].encode())


@pytest.mark.parametrize(
    "broken", [b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\x80\x80\x80", b"\xff\xff\xff"]
)
def test_a_ring_cuts_what_is_no_character_where_the_limit_is(broken: bytes) -> None:
    ring = RingBuffer(6, 4)
    ring.write(b"x" + broken + b"y" * 9 + broken + b"zz")
    assert ring.render() == (b"x" + broken[:1] + MARKER + broken[1:] + b"zz", True)


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
