"""Approvals given since a call came into doubt: whoever gave one knew that it may have run.

An approval that a run brought along stands right behind its claim, and may have been used before
that run died. Any other was recorded from outside while nobody ran the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fisk_ai.sessions.records import (
    Assistant,
    CallApproval,
    Claim,
    Decision,
    Deferred,
    Record,
    Terminal,
    ToolResult,
)


def approved_since(records: Sequence[Record]) -> Mapping[str, CallApproval]:
    """Return the one-shot approvals by call that no run can have used before it died.

    ``records`` end before the claim of whoever asks. A claim and a terminal spend what was given
    before them. Where it cannot be told who gave an approval, it is left out, so that the call is
    asked about again.
    """
    given: dict[str, CallApproval] = {}
    claimants = False
    for record in records:
        match record.payload:
            case Claim() | Terminal():
                given.clear()
                claimants = isinstance(record.payload, Claim)
            case CallApproval(tool_use_id=call) if not claimants:
                given[call] = record.payload
            case CallApproval() | Assistant() | Deferred() | Decision():
                claimants = False
            case ToolResult(kind=kind) if kind:
                claimants = False
            case _:
                pass
    return given
