"""The turns of one run, and the record that says how it ended."""

from __future__ import annotations

import asyncio

from fisk_ai.agent import batch
from fisk_ai.agent.budget import require_left
from fisk_ai.agent.ending import CONTINUABLE, TurnEnd, TurnOver
from fisk_ai.agent.iteration import turn
from fisk_ai.agent.prompt import follow_up_blocks
from fisk_ai.agent.work import Work
from fisk_ai.errors import StoreError
from fisk_ai.llm.model import Message
from fisk_ai.sessions.records import Terminal, User

STOPPED = "the worker stopped the run"
"""What the session of a cancelled run says."""


async def drive(work: Work) -> TurnEnd:
    """Finish what was begun, take a further prompt if there is one, and record the end.

    A cancellation is recorded as ``suspended`` and passed on, except while a tool may have run
    without a record: then the session stays open, and the next run asks about that call.
    """
    try:
        end = await _turns(work)
    except asyncio.CancelledError:
        if not work.unrecorded:
            await _record_end(work, Terminal(reason="suspended", message=STOPPED))
        raise
    await _record_end(work, Terminal(reason=end.reason, message=_text(end.error)))
    return end


async def _turns(work: Work) -> TurnEnd:
    if not _follows_up(work):
        return await _caught(work)
    if not work.conversation.at_user_boundary():
        end = await _caught(work)
        if end.reason not in CONTINUABLE or not await _may_follow(work):
            return end
    return await _follow_up(work)


def _follows_up(work: Work) -> bool:
    checkpoint = work.options.checkpoint
    return checkpoint is not None and checkpoint.follow_up


async def _caught(work: Work) -> TurnEnd:
    try:
        return await turn(work)
    except TurnOver as over:
        return over.end


async def _may_follow(work: Work) -> bool:
    """Say whether every call has its result; those of a truncated reply are answered here."""
    pending = work.conversation.batch
    if pending is None or not pending.truncated:
        return pending is None
    try:
        await batch.finish(work, pending)
    except TurnOver:
        return False
    return True


async def _follow_up(work: Work) -> TurnEnd:
    try:
        await _take_prompt(work)
    except TurnOver as over:
        return over.end
    return await _caught(work)


async def _take_prompt(work: Work) -> None:
    require_left(work.stats, work.config.llm.budget.max_tokens)
    blocks = follow_up_blocks(work.options.prompt, work.options.context)
    checkpoint = work.options.checkpoint
    request = checkpoint.request if checkpoint is not None else ""
    await batch.journal(work, User(message=Message("user", blocks), request=request))
    conversation = work.conversation
    conversation.prompt(blocks)
    conversation.cap = conversation.iteration + work.config.llm.budget.max_iterations
    work.follow_up_taken = True


def _text(error: Exception | None) -> str:
    return "" if error is None else str(error)


async def _record_end(work: Work, terminal: Terminal) -> None:
    """Write the terminal record; its failure is told and changes nothing."""
    try:
        await work.journal.write(terminal)
    except StoreError as exc:
        await work.warn("journal_terminal", error=str(exc))
