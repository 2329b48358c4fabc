"""Asking the model once: the request as this run makes it, and the failure as a turn's end."""

from __future__ import annotations

from typing import cast

from fisk_ai import faults
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.request_summary import summarise
from fisk_ai.agent.work import Work
from fisk_ai.errors import ProviderError, ProviderFailure
from fisk_ai.llm.model import Request, Response


async def ask(work: Work) -> Response:
    """Call the model with the conversation as it stands.

    Raises:
        TurnOver: with ``error``; nothing is counted and nothing recorded, so a later run asks
            the same again.
    """
    request = _request(work)
    if work.options.verbose:
        await work.events.llm_request(summarise(request.messages))
    on_delta = work.events.delta if work.events.wants_deltas() else None
    faults.point(faults.Point.MODEL_BEFORE)
    try:
        response = await work.options.provider.call(request, on_delta)
    except ProviderError as exc:
        failure = cast("ProviderFailure", exc.failure)  # stored as it was given
        raise TurnOver("error", ProviderError(f"llm call: {exc}", failure=failure)) from exc
    faults.point(faults.Point.MODEL_AFTER)
    return response


def _request(work: Work) -> Request:
    llm = work.config.llm
    return Request(
        model=llm.model,
        system_blocks=work.system_blocks,
        messages=tuple(work.conversation.messages),
        tools=work.tools.definitions,
        max_output_tokens=_output_cap(work),
        thinking=llm.thinking_enabled,
        reasoning_effort=llm.reasoning_effort,
        tool_search=work.tools.tool_search,
        prompt_cache=not llm.no_prompt_cache,
        interactive=work.options.human_paced,
        failed_attempts=work.conversation.failed_attempts,
    )


def _output_cap(work: Work) -> int:
    declared = work.options.provider.capabilities().max_output_tokens
    configured = work.config.llm.output_cap
    return min(declared, configured) if declared > 0 else configured
