"""The calls of one reply: strictly one after another, each result durable before the next starts.

A batch found in a journal takes the same path as a fresh one; what it has answered is reused.
"""

from __future__ import annotations

from fisk_ai.agent import tool_call
from fisk_ai.agent.conversation import Batch
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.tool_call import Answer
from fisk_ai.agent.work import Work
from fisk_ai.errors import StoreError
from fisk_ai.sessions.records import Decision, Payload, ToolResult


async def finish(work: Work, batch: Batch) -> None:
    """Answer every open call and show the model all results as one message.

    Raises:
        TurnOver: a call has no result, a record is not durable, or an answer is still awaited
            from outside; then nothing is shown to the model.
    """
    for call in batch.open_calls():
        if batch.truncated:
            answer = tool_call.cut_off(work, call)
        else:
            answer = await tool_call.answer(work, call)
        await _record(work, batch, answer)
    if batch.open_deferrals():
        raise TurnOver("suspended")
    work.conversation.commit(batch)


async def _record(work: Work, batch: Batch, answer: Answer) -> None:
    result = answer.result
    await journal(
        work,
        ToolResult(
            tool_use_id=result.tool_use_id,
            result=result,
            remote=answer.dispatched and answer.kind == "remote",
            kind=answer.kind,
            dispatched=answer.dispatched,
        ),
    )
    work.unrecorded = False
    batch.results.append(result)
    await _flush_grants(work)


async def _flush_grants(work: Work) -> None:
    """Write standing grants only now, so that none outlives a call that never happened."""
    for name in work.staged_grants:
        await journal(work, Decision(tool=name))
    work.staged_grants.clear()


async def journal(work: Work, payload: Payload) -> None:
    """Write one record of the conversation.

    Raises:
        TurnOver: with ``error``; a run whose records are not durable must not go on.
    """
    try:
        await work.journal.write(payload)
    except StoreError as exc:
        raise TurnOver("error", StoreError(f"journaling run: {exc}")) from exc
