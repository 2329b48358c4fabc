"""The turns of one run, and the record that says how it ended."""

from __future__ import annotations

import asyncio

from fisk_ai.agent import batch, closing
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.ending import TurnEnd, TurnOver, caught
from fisk_ai.agent.hook_points import vet_all
from fisk_ai.agent.interactive import converse
from fisk_ai.agent.iteration import ended_by, turn
from fisk_ai.agent.options import Checkpoint
from fisk_ai.agent.prompt import follow_up_blocks
from fisk_ai.errors import RefusedError
from fisk_ai.llm.model import Message
from fisk_ai.sessions.records import Terminal, User

STOPPED = "the worker stopped the run"
"""What the session of a cancelled run says."""


async def drive(active: ActiveRun) -> TurnEnd:
    """Finish what was begun, take further prompts if there are any, and record the end.

    A cancellation is recorded as ``suspended`` and passed on, except while a tool may have run
    without a record: then the session stays open, and the next run asks about that call. So it is
    with an end that leaves such a call.
    """
    try:
        end = await _turns(active)
    except asyncio.CancelledError:
        if not active.unrecorded:
            await closing.record_end(active, Terminal(reason="suspended", message=STOPPED))
        raise
    if not end.in_doubt:
        await closing.record_end(active, Terminal(reason=end.reason, message=_text(end.error)))
    return end


async def _turns(active: ActiveRun) -> TurnEnd:
    checkpoint, ask = active.options.checkpoint, active.options.next_prompt
    if checkpoint is not None and checkpoint.follow_up:
        end = await _follow_up(active, checkpoint)
    elif ask is not None and _is_at_boundary(active):
        end = TurnEnd("completed")
    else:
        end = await caught(_go_on(active))
    return end if ask is None else await converse(active, ask, end)


def _is_at_boundary(active: ActiveRun) -> bool:
    return active.conversation.at_user_boundary()


async def _go_on(active: ActiveRun) -> TurnEnd:
    """Finish the turn in hand; one whose last reply ended it keeps that end."""
    if _is_at_boundary(active):
        return ended_by(active.conversation.last_stop_reason)
    active.heed_budget()
    return await turn(active)


async def _follow_up(active: ActiveRun, checkpoint: Checkpoint) -> TurnEnd:
    if not _is_at_boundary(active):
        end = await caught(_go_on(active))
        if not await batch.is_settled(active, end):
            return end
    return await caught(_prompted(active, checkpoint))


async def _prompted(active: ActiveRun, checkpoint: Checkpoint) -> TurnEnd:
    text, context = await _vetted(active)
    active.heed_budget()
    blocks = follow_up_blocks(text, context)
    await active.record(User(message=Message("user", blocks), request=checkpoint.request))
    conversation = active.conversation
    conversation.prompt(blocks)
    conversation.cap = conversation.iteration + active.config.llm.budget.max_iterations
    active.follow_up_taken = True
    return await turn(active)


async def _vetted(active: ActiveRun) -> tuple[str, str]:
    options = active.options
    try:
        return await vet_all(active.hooks, options.prompt, options.context, initial=False)
    except RefusedError as exc:
        raise TurnOver("error", exc, aborts=True) from exc


def _text(error: Exception | None) -> str:
    return "" if error is None else str(error)
