"""How a turn ends: with a reason, and with an error where a person has something to do."""

from __future__ import annotations

from dataclasses import dataclass

from fisk_ai.sessions.records import Reason

CONTINUABLE: frozenset[Reason] = frozenset({"completed", "max_iterations", "error"})
"""Ends after which another prompt can be taken: nothing is parked and tokens are left."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """One turn's end; ``error`` stands beside every reason that is no answer."""

    reason: Reason
    error: Exception | None = None


class TurnOver(Exception):
    """Raised where a turn cannot go on, however deep; the driver takes its ``end``."""

    def __init__(self, reason: Reason, error: Exception | None = None) -> None:
        """Carry the reason and the error of the end."""
        super().__init__(reason)
        self.end = TurnEnd(reason, error)
