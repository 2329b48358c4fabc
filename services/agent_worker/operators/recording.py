"""An operator's decision written into the journal of a session that nobody runs.

One record and no claim: whoever takes the session next goes on from it. What could not be told
from the record later, an approval for always and a refusal of a call that may have run, is refused.
Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from msgspec import UNSET

from fisk_ai.a2a.messages import Answer
from fisk_ai.agent.waiting import Waiting, options_of
from fisk_ai.errors import AlreadyAnsweredError, NotDeferredError, ProtocolError
from fisk_ai.sessions import supply
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.records import CallApproval
from fisk_ai.sessions.store import Store
from fisk_ai.text.sanitise import quoted
from fisk_ai.toolkit.builtin import hitl
from fisk_ai.toolkit.gate import DECLINED_REASON, IN_DOUBT_REASON, Decision


async def record(store: Store, session: str, item: Waiting, answer: Answer) -> None:
    """Write ``answer`` to the call ``item`` down.

    Raises:
        ProtocolError: it does not fit what the call waits for.
        NotDeferredError, AlreadyAnsweredError, ResultTooLargeError: the call waits no more, or not
            for this.
        StoreError: the session is held, or could not be read or written.
    """
    if answer.kind != "approve":
        await supply.supply(store, session, item.tool_use_id, _content(item, answer))
    elif answer.no_operator or answer.choice is UNSET or answer.choice == "no":
        await _decline(store, session, item)
    elif answer.choice == "once":
        await _approve(store, session, item)
    else:
        raise ProtocolError(
            "a standing approval is not recorded before its call has run; approve the call once"
        )


async def _approve(store: Store, session: str, item: Waiting) -> None:
    if item.is_approved:
        raise AlreadyAnsweredError(f"call {quoted(item.tool_use_id)} is approved already")
    if item.in_doubt and not item.parked:
        # Behind the claim of a process that died it could have been that one's, and used already.
        raise NotDeferredError(
            f"call {quoted(item.tool_use_id)} may have run already; it is approved once a run has"
            " parked at it, so try its task again first"
        )
    approval = CallApproval(
        tool_use_id=item.tool_use_id,
        tool_name=item.tool,
        args_sha256=args_sha256(item.tool, item.arguments),
    )
    await supply.approve(store, session, approval)


async def _decline(store: Store, session: str, item: Waiting) -> None:
    if not item.parked:
        raise NotDeferredError(
            f"call {quoted(item.tool_use_id)} may have run already; it is denied once a run has"
            " parked at it, so try its task again first"
        )
    reason = IN_DOUBT_REASON if item.in_doubt else DECLINED_REASON
    refusal = Decision(allowed=False, reason=reason, is_error=item.in_doubt)
    await supply.decline(
        store, session, item.tool_use_id, refusal.result_text(), is_error=refusal.is_error
    )


def _content(item: Waiting, answer: Answer) -> str:
    """Return the result that the tool which asked would have given."""
    if answer.kind == "approve" or answer.kind != item.kind:
        raise ProtocolError(
            f"call {quoted(item.tool_use_id)} waits for an answer of kind {item.kind}, not of kind"
            f" {answer.kind}"
        )
    value = "" if answer.value is UNSET else answer.value
    if answer.kind == "select" and not answer.no_operator and value not in options_of(item):
        raise ProtocolError(f"call {quoted(item.tool_use_id)} offers no option of that text")
    return hitl.late_answer(
        answer.kind,
        confirmed=answer.confirmed,
        value=value,
        no_operator=answer.no_operator,
    ).content
