"""The calls of one reply: strictly one after another, each settled durably before the next starts.

A request to park is heeded before each call: whoever stops an agent wants nothing more to start.

A batch found in a journal takes the same path as a fresh one; what it has answered is reused, and
what is deferred waits for an answer from outside, never for a second try.
"""

from __future__ import annotations

import asyncio

from fisk_ai.agent import tool_call
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.cancellation import is_cancelled
from fisk_ai.agent.conversation import Batch
from fisk_ai.agent.ending import TurnEnd, TurnOver
from fisk_ai.agent.tool_call import Answer
from fisk_ai.sessions.records import Decision, Deferred, ToolResult


async def finish(active: ActiveRun, batch: Batch) -> None:
    """Answer every open call and show the model all results as one message.

    Raises:
        TurnOver: the run was asked to park or was cancelled, a call has no result, a record is not
            durable, or an answer is still awaited from outside; then nothing is shown to the model.
    """
    for call in batch.open_calls():
        if batch.truncated:
            answer = tool_call.cut_off(active, call)
        else:
            active.heed_suspend()
            answer = await tool_call.answer(active, call)
        if isinstance(answer, Deferred):
            await _defer(active, batch, answer)
            if is_cancelled():  # its tool was stopped and put down what it waits for
                raise TurnOver("suspended")
        else:
            await _record(active, batch, answer)
    if batch.open_deferrals():
        raise TurnOver("suspended")
    active.conversation.commit(batch)


async def is_settled(active: ActiveRun, end: TurnEnd) -> bool:
    """Say whether a prompt may follow ``end``: it must not stand behind a call without a result.

    The calls of a truncated reply are answered here, since none of them will ever run.
    """
    pending = active.conversation.batch
    if not end.continuable or (pending is not None and not pending.truncated):
        return False
    if pending is None:
        return True
    try:
        await finish(active, pending)
    except TurnOver:
        return False
    return True


async def _record(active: ActiveRun, batch: Batch, answer: Answer) -> None:
    result = answer.result
    await _settle(
        active,
        ToolResult(
            tool_use_id=result.tool_use_id,
            result=result,
            remote=answer.dispatched and answer.kind == "remote",
            kind=answer.kind,
            dispatched=answer.dispatched,
        ),
    )
    batch.results.append(result)
    await _flush_grants(active)


async def _defer(active: ActiveRun, batch: Batch, deferral: Deferred) -> None:
    """Record that a call waits; from here on no run starts it again."""
    await _settle(active, deferral)
    batch.deferred[deferral.tool_use_id] = deferral
    await _flush_grants(active)
    await active.warn("tool_deferred", name=deferral.tool_name, error=_words(deferral))


async def _settle(active: ActiveRun, payload: ToolResult | Deferred) -> None:
    """Record what became of a call; a run that is cancelled meanwhile knows whether it did."""
    try:
        await active.record(payload)
    except asyncio.CancelledError:
        active.unrecorded = active.unrecorded and active.journal.in_doubt()
        raise
    active.unrecorded = False


def _words(deferral: Deferred) -> str:
    note = deferral.note or "the answer comes later"
    return f"{note} ({deferral.handle})" if deferral.handle else note


async def _flush_grants(active: ActiveRun) -> None:
    """Write standing grants only now, so that none outlives a call that never happened."""
    for name in active.staged_grants:
        await active.record(Decision(tool=name))
    active.staged_grants.clear()
