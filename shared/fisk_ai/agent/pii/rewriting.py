"""A text in which some pieces were put in place of others, and where each of them came from."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from fisk_ai.agent.pii.rules import Span

_BACKSLASH = b"\\"


class Rewriting:
    """One step from a text to the next; places are mapped from the next one back."""

    def __init__(self, parts: list[bytes], values: Sequence[bytes]) -> None:
        """Put ``values`` in place of every second of ``parts``, from the second on."""
        self._before = array("I", accumulate(map(len, parts)))
        parts[1::2] = values
        self._after = array("I", accumulate(map(len, parts)))
        self.text = b"".join(parts)

    def origin(self, span: Span) -> Span:
        """Return what ``span`` was made of: all of a piece of which it has a part."""
        return self._start(span[0]), self._end(span[1])

    def _start(self, place: int) -> int:
        index = bisect_right(self._after, place)
        before, after = (self._before[index - 1], self._after[index - 1]) if index else (0, 0)
        if index % 2 == 0:
            return before + place - after
        return before + 2 * (place - after) if self._is_halved(after) else before

    def _end(self, place: int) -> int:
        index = bisect_right(self._after, place - 1)
        rest = self._after[index] - place
        if index % 2 == 0:
            return self._before[index] - rest
        is_halved = rest and self._is_halved(place - 1)
        return self._before[index] - 2 * rest if is_halved else self._before[index]

    def _is_halved(self, place: int) -> bool:
        """Say whether the piece is a run of backslashes, each of which was a pair."""
        return self.text.startswith(_BACKSLASH, place)


def cut(text: bytes, spans: Sequence[Span]) -> list[bytes]:
    """Return ``text`` in pieces: what is outside of ``spans`` and what is in them, in turns."""
    parts: list[bytes] = []
    end = 0
    for start, stop in spans:
        parts += (text[end:start], text[start:stop])
        end = stop
    return [*parts, text[end:]]
