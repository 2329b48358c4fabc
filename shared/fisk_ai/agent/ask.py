"""Asking the model once: the request as this run makes it, and the failure as a turn's end."""

from __future__ import annotations

from fisk_ai import faults
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.request_summary import summarise
from fisk_ai.errors import ProviderError
from fisk_ai.llm.model import Request, Response


async def ask(active: ActiveRun) -> Response:
    """Call the model with the conversation as it stands.

    Raises:
        TurnOver: with ``error``; nothing is counted and nothing recorded, so a later run asks
            the same again.
    """
    request = _request(active)
    if active.options.verbose:
        await active.events.llm_request(summarise(request.messages))
    on_delta = active.events.delta if active.events.wants_deltas() else None
    faults.point(faults.Point.MODEL_BEFORE)
    try:
        response = await active.options.provider.call(request, on_delta)
    except ProviderError as exc:
        raise TurnOver("error", ProviderError(f"llm call: {exc}", failure=exc.failure)) from exc
    faults.point(faults.Point.MODEL_AFTER)
    return response


def _request(active: ActiveRun) -> Request:
    llm = active.config.llm
    return Request(
        model=llm.model,
        system_blocks=active.system_blocks,
        messages=active.conversation.sendable(),
        tools=active.tools.definitions,
        max_output_tokens=_output_cap(active),
        thinking=llm.thinking_enabled,
        reasoning_effort=llm.reasoning_effort,
        tool_search=active.tools.tool_search,
        prompt_cache=not llm.no_prompt_cache,
        interactive=active.options.human_paced,
        failed_attempts=active.conversation.failed_attempts,
    )


def _output_cap(active: ActiveRun) -> int:
    declared = active.options.provider.capabilities().max_output_tokens
    configured = active.config.llm.output_cap
    return min(declared, configured) if declared > 0 else configured
