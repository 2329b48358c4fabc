"""Which call may have run without a record of it.

Tools run one after another, so a process that died leaves at most one. It is asked about before it
is repeated when it could do harm. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.llm.model import ToolUseBlock
from fisk_ai.sessions.records import Assistant, Claim, Deferred, Record, Terminal, ToolResult, User


class _Watch:
    """Follows who had the open batch, and which of its calls they could have started."""

    def __init__(self) -> None:
        self._open: dict[str, None] = {}
        self._held = False
        self._suspect = ""

    def follow(self, record: Record) -> None:
        match record.payload:
            case Assistant(message=message):
                calls = (b.id for b in message.content if isinstance(b, ToolUseBlock))
                self._open = dict.fromkeys(calls)
                self._held = True
            case User():
                self._open = {}
            case ToolResult(tool_use_id=call) | Deferred(tool_use_id=call):
                self._open.pop(call, None)
            case Claim():
                self.lose_holder()
                self._held = True
            case Terminal():
                self._held = False
            case _:
                pass

    def lose_holder(self) -> None:
        """Note that the holder is gone; without a terminal it may have been inside a call."""
        if self._held and self._open:
            self._suspect = next(iter(self._open))
        self._held = False

    def suspect(self) -> str | None:
        return self._suspect if self._suspect in self._open else None


def in_doubt(records: Sequence[Record]) -> str | None:
    """Return the id of the one call in doubt, or ``None``.

    ``records`` end before the claim of whoever asks. A run that parked cleanly leaves no doubt; a
    doubt lasts, through any number of resumes, until the call is answered or deferred.
    """
    watch = _Watch()
    for record in records:
        watch.follow(record)
    watch.lose_holder()
    return watch.suspect()
