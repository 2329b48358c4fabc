"""How much work the styling of one text may be, counted where the parser of markdown does it.

A text may be made so that reading it takes time beyond all proportion to its size, and nothing can
interrupt that. The size alone bounds too little: what is counted is the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

STEPS_LIMIT = 30_000
"""Times that the parser may ask what begins at a place. Thirty kilobytes of a usual text take two
thousand, and one that was made for it millions."""

TOKENS_LIMIT = 10_000
"""Parts that may be drawn, of which a usual text has as many as steps. A row of one letter has a
part for every heading of its table."""

_INTERRUPTED = ["paragraph", "reference", "blockquote", "list"]
"""Kinds of blocks that ask at each of their lines whether another begins there."""


class TooMuchWorkError(ValueError):
    """A text is more work than its styling is worth."""


@dataclass(slots=True)
class _Steps:
    left: int = STEPS_LIMIT

    def block(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the parser's form of a rule
        del state, start, end, silent
        return self._take()

    def inline(self, state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as above
        del state, silent
        return self._take()

    def _take(self) -> bool:
        """Count one step; it is never what begins here."""
        self.left -= 1
        if self.left < 0:
            raise TooMuchWorkError
        return False


def bound(parser: MarkdownIt) -> None:
    """Let ``parser``, which reads one text, give up with :class:`TooMuchWorkError`."""
    steps = _Steps()
    parser.block.ruler.before("table", "steps", steps.block, {"alt": _INTERRUPTED})
    parser.inline.ruler.before("text", "steps", steps.inline)


def check_tokens(tokens: Sequence[Token]) -> None:
    """Raise :class:`TooMuchWorkError` where ``tokens`` are too many to be drawn."""
    if len(tokens) + sum(len(token.children or ()) for token in tokens) > TOKENS_LIMIT:
        raise TooMuchWorkError
