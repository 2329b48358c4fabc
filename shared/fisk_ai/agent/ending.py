"""How a turn ends: with a reason, and with an error where a person has something to do."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from fisk_ai.sessions.records import Reason

CONTINUABLE: frozenset[Reason] = frozenset({"completed", "max_iterations", "error"})
"""Ends after which another prompt can be taken: nothing is parked and tokens are left."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """One turn's end; ``error`` stands beside every reason that is no answer.

    ``aborts`` says that no prompt may follow in this run. ``in_doubt`` says that a tool ran whose
    result is recorded nowhere: the session is left without a terminal, so that a resume asks
    before it repeats what may do harm.
    """

    reason: Reason
    error: Exception | None = None
    aborts: bool = False
    in_doubt: bool = False

    @property
    def continuable(self) -> bool:
        """Whether another prompt may be taken after this end."""
        return self.reason in CONTINUABLE and not self.aborts


class TurnOver(Exception):
    """Raised where a turn cannot go on, however deep; the driver takes its ``end``."""

    def __init__(
        self,
        reason: Reason,
        error: Exception | None = None,
        *,
        aborts: bool = False,
        in_doubt: bool = False,
    ) -> None:
        """Carry what the end is made of."""
        super().__init__(reason)
        self.end = TurnEnd(reason, error, aborts=aborts, in_doubt=in_doubt)


async def caught(work: Awaitable[TurnEnd]) -> TurnEnd:
    """Return the end of a turn, however it came about."""
    try:
        return await work
    except TurnOver as over:
        return over.end
