"""One turn: ask the model, record its reply, run its tools, until it answers or must stop.

The order of the steps is the promise: a reply is durable before any of its tools runs, and the
budget is looked at before a batch, never after an answer.
"""

from __future__ import annotations

from dataclasses import replace

from fisk_ai.agent import batch
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.ask import ask
from fisk_ai.agent.call_ids import with_own_ids
from fisk_ai.agent.conversation import PAUSED, TRUNCATED, calls_of
from fisk_ai.agent.deep_calls import without_deep_calls
from fisk_ai.agent.ending import TurnEnd, TurnOver
from fisk_ai.agent.hook_points import in_loop
from fisk_ai.agent.hooks import PostModelCall
from fisk_ai.agent.stats import count_reply
from fisk_ai.errors import FiskError, ProviderError
from fisk_ai.llm.model import Message, Response
from fisk_ai.llm.usage import believed
from fisk_ai.sessions.records import Assistant


async def turn(active: ActiveRun) -> TurnEnd:
    """Work until the model answers; an unfinished batch comes first.

    Raises:
        TurnOver: the turn ended any other way than by an answer.
    """
    conversation = active.conversation
    if conversation.batch is not None:
        await batch.finish(active, conversation.batch)
    while conversation.iteration < conversation.cap:
        active.heed_suspend()
        end = await _iterate(active)
        if end is not None:
            return end
    text = (
        f"max iterations ({conversation.cap}) reached without a final answer; "
        "raise llm.budget.max_iterations, then resume"
    )
    raise TurnOver("max_iterations", FiskError(text, key="llm.budget.max_iterations"))


async def _iterate(active: ActiveRun) -> TurnEnd | None:
    conversation = active.conversation
    index = conversation.iteration
    conversation.iteration += 1
    response = with_own_ids(await ask(active, index), conversation.call_ids)
    response = without_deep_calls(response)
    response = replace(response, usage=believed(response.usage))
    count_reply(active.stats, response.usage)
    conversation.reply(response.content, response.stop_reason)
    await active.record(_record(index, response))
    calls = calls_of(response.content)
    truncated = response.stop_reason == TRUNCATED
    terminal = not calls and response.stop_reason not in (PAUSED, TRUNCATED)
    await _show(active, index, response, terminal=terminal)
    await active.events.message(response, terminal=terminal or truncated)
    if terminal or truncated:
        return ended_by(response.stop_reason)
    active.heed_budget()
    if conversation.batch is not None:
        await batch.finish(active, conversation.batch)
    return None


async def _show(active: ActiveRun, index: int, response: Response, *, terminal: bool) -> None:
    hook = active.hooks.post_model_call
    if hook is None:
        return
    reply = PostModelCall(
        iteration=index,
        response=response,
        terminal=terminal,
        tool_calls=len(calls_of(response.content)),
    )
    with in_loop("post_model_call"):
        await hook(reply)


def ended_by(stop_reason: str) -> TurnEnd:
    """Return how a reply without further work ended its turn."""
    if stop_reason == TRUNCATED:
        text = (
            "model reply truncated at the output token limit; the answer is incomplete, "
            "raise llm.budget.max_output_tokens for longer ones"
        )
        return TurnEnd("error", ProviderError(text))
    if stop_reason == "refusal":
        return TurnEnd("error", ProviderError("model refused to respond"))
    return TurnEnd("completed")


def _record(index: int, response: Response) -> Assistant:
    usage = response.usage
    return Assistant(
        iteration=index,
        message=Message("assistant", response.content),
        stop_reason=response.stop_reason,
        in_tokens=usage.input,
        out_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_create_tokens=usage.cache_create,
        thinking_tokens=usage.thinking,
    )
