"""How much of a command's output is kept: the beginning and the end, in fixed memory.

Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

from fisk_ai.text.trim import AROUND_BYTES, first_bytes, last_bytes

MARKER = b"\n...[output truncated]...\n"
"""Stands where bytes were dropped; models are told of it by this text alone."""

HEAD_BYTES = 65_536
"""Output up to this size is kept whole: what a model can read at once without drowning."""

TAIL_BYTES = 32_768
"""Bytes kept of the end, where commands write what went wrong."""


class RingBuffer:
    """Takes a stream of any length and gives back all of it, or its two ends."""

    __slots__ = ("_head", "_head_bytes", "_tail", "_tail_bytes", "_total")

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        """Keep up to ``head`` bytes whole; beyond that the last ``tail`` bytes stay.

        Raises:
            ValueError: ``tail`` is no part of ``head``.
        """
        if not 0 < tail <= head:
            raise ValueError(f"a ring of {head} bytes cannot keep a tail of {tail}")
        self._head_bytes = head
        self._tail_bytes = tail
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def write(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._total += len(data)
        self._head += data[: self._head_bytes + AROUND_BYTES - len(self._head)]
        needed = self._tail_bytes + AROUND_BYTES
        self._tail += data[-needed:]
        if len(self._tail) > 2 * needed:
            del self._tail[:-needed]

    def render(self) -> tuple[bytes, bool]:
        """Return what is kept, and whether anything was dropped.

        A cut stream gives as many bytes as the largest whole one, and the marker between them. What
        a cut would split of a character is dropped with the middle; other bytes are cut where they
        are.
        """
        if self._total <= self._head_bytes:
            return bytes(self._head), False
        front = first_bytes(bytes(self._head), self._head_bytes - self._tail_bytes)
        return front + MARKER + last_bytes(bytes(self._tail), self._tail_bytes), True
