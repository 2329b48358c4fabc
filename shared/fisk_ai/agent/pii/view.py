"""A text as patterns read it, and what becomes of the text as it is written.

Patterns read it with its escapes resolved, each rule what those before it left. What they find is
replaced where it is written: whole escapes, and everything else byte for byte as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from fisk_ai.agent.pii.escapes import QUOTES, readable, resolved
from fisk_ai.agent.pii.nesting import Nesting
from fisk_ai.agent.pii.rewriting import Rewriting, cut
from fisk_ai.agent.pii.rules import Span


class View:
    """One text; ``seen`` is what patterns read."""

    def __init__(self, data: bytes) -> None:
        """Resolve the escapes of ``data``."""
        self._data = data
        self._marked, self._steps = resolved(data)
        self.seen = readable(self._marked) if self._steps else data
        self._edits: list[tuple[int, int, bytes]] = []

    def replace(self, spans: Sequence[Span], placeholder: bytes) -> int:
        """Put ``placeholder`` in place of ``spans`` of ``seen``; return of how many of them.

        The strings around stay, and what is between them; a number becomes a string.
        """
        nesting = Nesting(self.seen, self._marked)
        of_spans = [list(nesting.pieces(span)) for span in spans]
        pieces = list(chain.from_iterable(of_spans))
        for start, end, depth in pieces:
            value = placeholder if depth is None else _string(placeholder, _quote(depth))
            self._edits.append((*self._origin((start, end)), value))
        marked = [
            placeholder if depth is None else _string(placeholder, QUOTES[depth : depth + 1])
            for _, _, depth in pieces
        ]
        step = Rewriting(cut(self._marked, [piece[:2] for piece in pieces]), marked)
        self._steps.append(step)
        self._marked = step.text
        self.seen = readable(self._marked)
        return sum(map(bool, of_spans))

    def written(self) -> bytes:
        """Return the text as it was written, with everything replaced."""
        return b"".join(self._pieces())

    def _origin(self, span: Span) -> Span:
        for step in reversed(self._steps):
            span = step.origin(span)
        return span

    def _pieces(self) -> Iterator[bytes]:
        """Yield what stays and what stands for the rest; a later value may hold an earlier one."""
        end = 0
        newest_first = self._edits[::-1]
        for start, stop, value in sorted(newest_first, key=lambda edit: (edit[0], -edit[1])):
            if start >= end:
                yield self._data[end:start]
                yield value
            end = max(end, stop)
        yield self._data[end:]


def _quote(depth: int) -> bytes:
    """Return how a quote of a string in ``depth`` strings is written."""
    return b"\\" * (2**depth - 1) + b'"'


def _string(placeholder: bytes, quote: bytes) -> bytes:
    return quote + placeholder + quote
