"""The turns of one run, and the record that says how it ended."""

from __future__ import annotations

import asyncio

from fisk_ai.agent import batch
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.budget import require_left
from fisk_ai.agent.ending import CONTINUABLE, TurnEnd, TurnOver
from fisk_ai.agent.iteration import turn
from fisk_ai.agent.prompt import follow_up_blocks
from fisk_ai.errors import StoreError
from fisk_ai.llm.model import Message
from fisk_ai.sessions.records import Terminal, User

STOPPED = "the worker stopped the run"
"""What the session of a cancelled run says."""


async def drive(active: ActiveRun) -> TurnEnd:
    """Finish what was begun, take a further prompt if there is one, and record the end.

    A cancellation is recorded as ``suspended`` and passed on, except while a tool may have run
    without a record: then the session stays open, and the next run asks about that call.
    """
    try:
        end = await _turns(active)
    except asyncio.CancelledError:
        if not active.unrecorded:
            await _record_end(active, Terminal(reason="suspended", message=STOPPED))
        raise
    await _record_end(active, Terminal(reason=end.reason, message=_text(end.error)))
    return end


async def _turns(active: ActiveRun) -> TurnEnd:
    if not _follows_up(active):
        return await _caught(active)
    if not active.conversation.at_user_boundary():
        end = await _caught(active)
        if end.reason not in CONTINUABLE or not await _may_follow(active):
            return end
    return await _follow_up(active)


def _follows_up(active: ActiveRun) -> bool:
    checkpoint = active.options.checkpoint
    return checkpoint is not None and checkpoint.follow_up


async def _caught(active: ActiveRun) -> TurnEnd:
    try:
        return await turn(active)
    except TurnOver as over:
        return over.end


async def _may_follow(active: ActiveRun) -> bool:
    """Say whether every call has its result; those of a truncated reply are answered here."""
    pending = active.conversation.batch
    if pending is None or not pending.truncated:
        return pending is None
    try:
        await batch.finish(active, pending)
    except TurnOver:
        return False
    return True


async def _follow_up(active: ActiveRun) -> TurnEnd:
    try:
        await _take_prompt(active)
    except TurnOver as over:
        return over.end
    return await _caught(active)


async def _take_prompt(active: ActiveRun) -> None:
    require_left(active.stats, active.config.llm.budget.max_tokens)
    blocks = follow_up_blocks(active.options.prompt, active.options.context)
    checkpoint = active.options.checkpoint
    request = checkpoint.request if checkpoint is not None else ""
    await active.record(User(message=Message("user", blocks), request=request))
    conversation = active.conversation
    conversation.prompt(blocks)
    conversation.cap = conversation.iteration + active.config.llm.budget.max_iterations
    active.follow_up_taken = True


def _text(error: Exception | None) -> str:
    return "" if error is None else str(error)


async def _record_end(active: ActiveRun, terminal: Terminal) -> None:
    """Write the terminal record; its failure is told and changes nothing."""
    try:
        await active.journal.write(terminal)
    except StoreError as exc:
        await active.warn("journal_terminal", error=str(exc))
