"""Asking the model once: the request as this run makes it, and the failure as a turn's end."""

from __future__ import annotations

from fisk_ai import faults
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.hook_points import in_loop
from fisk_ai.agent.hooks import PreModelCall
from fisk_ai.agent.request_summary import summarise
from fisk_ai.errors import ProviderError
from fisk_ai.llm.model import Request, Response
from fisk_ai.llm.provider import output_cap


async def ask(active: ActiveRun, index: int) -> Response:
    """Call the model with the conversation as it stands, as call ``index`` of the session.

    Raises:
        TurnOver: with ``error``; nothing is counted and nothing recorded, so a later run asks
            the same again.
    """
    request = _request(active, index)
    if active.options.verbose:
        await active.events.llm_request(summarise(request.messages))
    await _announce(active, index)
    on_delta = active.events.delta if active.events.wants_deltas() else None
    faults.point(faults.Point.MODEL_BEFORE)
    try:
        response = await active.options.provider.call(request, on_delta)
    except ProviderError as exc:
        raise TurnOver("error", ProviderError(f"llm call: {exc}", failure=exc.failure)) from exc
    faults.point(faults.Point.MODEL_AFTER)
    return response


async def _announce(active: ActiveRun, index: int) -> None:
    hook = active.hooks.pre_model_call
    if hook is None:
        return
    with in_loop("pre_model_call"):
        await hook(
            PreModelCall(
                iteration=index,
                model=active.config.llm.model,
                messages=len(active.conversation.messages),
                tools=len(active.tools.definitions),
            )
        )


def _request(active: ActiveRun, index: int) -> Request:
    llm = active.config.llm
    return Request(
        model=llm.model,
        system_blocks=active.system_blocks,
        messages=active.conversation.sendable(),
        tools=active.tools.definitions,
        max_output_tokens=output_cap(llm.output_cap, active.options.provider.capabilities()),
        thinking=llm.thinking_enabled,
        reasoning_effort=llm.reasoning_effort,
        tool_search=active.tools.tool_search,
        prompt_cache=not llm.no_prompt_cache,
        interactive=active.options.human_paced or active.options.next_prompt is not None,
        failed_attempts=active.conversation.failed_attempts,
        iteration=index,
    )
