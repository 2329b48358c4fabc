"""Turn after turn with a person: what happens at each boundary, and how they leave.

A prompt that is refused changes nothing, so the person is simply asked again. A wish to begin anew
waits for the words that open the new conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fisk_ai.agent import batch, rotation
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.ending import TurnEnd, TurnOver, caught
from fisk_ai.agent.hook_points import PromptDeniedError, in_loop, vet
from fisk_ai.agent.hooks import AtTurnEnd, UserPrompt
from fisk_ai.agent.iteration import turn
from fisk_ai.agent.options import NextPrompt
from fisk_ai.agent.prompt import follow_up_blocks
from fisk_ai.errors import FiskError, PromptAbortedError, RefusedError, StoreError
from fisk_ai.llm.model import Message
from fisk_ai.sessions.records import User
from fisk_ai.text.sanitise import clean_surrogates

Ask = Callable[[], Awaitable[NextPrompt]]


@dataclass(frozen=True, slots=True)
class _Accepted:
    """Words that may join; ``anew`` says that they open a new conversation."""

    text: str
    anew: bool


async def converse(active: ActiveRun, ask: Ask, end: TurnEnd) -> TurnEnd:
    """Take prompts after ``end``, and after every turn, until the person leaves or none can follow.

    Leaving parks a run that journals and completes any other.
    """
    while await batch.is_settled(active, end):
        try:
            await _tell(active, end)
            accepted = await _accepted(active, ask)
        except TurnOver as over:
            return over.end
        if accepted is None:
            return TurnEnd("suspended" if active.journal.enabled else "completed")
        end = await caught(_turn(active, accepted))
    return end


async def _tell(active: ActiveRun, end: TurnEnd) -> None:
    """Tell the hook of a boundary, and the person why their turn gave no answer."""
    hook = active.hooks.turn_end
    if hook is not None:
        with in_loop("turn_end"):
            await hook(AtTurnEnd(reason=end.reason, iteration=active.conversation.iteration))
    if end.reason == "max_iterations":
        cap = active.config.llm.budget.max_iterations
        await active.warn("max_iterations_interactive", count=cap)
    elif end.reason == "error":
        await active.warn("turn_error_interactive", error=str(end.error))


async def _accepted(active: ActiveRun, ask: Ask) -> _Accepted | None:
    """Ask until there are words that may join; ``None`` says that the person left."""
    anew = False
    while True:
        active.heed_suspend()
        said = await _said(ask)
        if not said.go_on:
            return None
        if not said.text.strip():
            anew = anew or said.reset
            continue
        try:
            text = await _vetted(active, said.text)
        except PromptDeniedError as exc:
            await active.warn("prompt_denied", name=exc.reason)
            continue
        return _Accepted(text, anew or said.reset)


async def _said(ask: Ask) -> NextPrompt:
    try:
        return await ask()
    except PromptAbortedError:
        return NextPrompt(go_on=False)
    except FiskError as exc:
        raise TurnOver("error", exc, aborts=True) from exc


async def _vetted(active: ActiveRun, text: str) -> str:
    try:
        return await vet(active.hooks, UserPrompt(text=clean_surrogates(text), initial=False))
    except PromptDeniedError:
        raise
    except RefusedError as exc:
        raise TurnOver("error", exc, aborts=True) from exc


async def _turn(active: ActiveRun, accepted: _Accepted) -> TurnEnd:
    if not (accepted.anew and await rotation.begin_anew(active, accepted.text)):
        active.heed_budget()
        await _join(active, accepted.text)
    return await turn(active)


async def _join(active: ActiveRun, text: str) -> None:
    conversation, blocks = active.conversation, follow_up_blocks(text, "")
    conversation.prompt(blocks)
    conversation.cap = conversation.iteration + active.config.llm.budget.max_iterations
    try:
        await active.journal.write(User(message=Message("user", blocks)))
    except StoreError as exc:
        await active.warn("journal_user", error=str(exc))
        error = StoreError(f"journaling run: {exc}")
        raise TurnOver("error", error, aborts=True) from exc
