"""One tool call from the model's words to its result; every way it can end is here.

A call ends as unknown, as denied by a hook, as incomplete, as refused, as deferred, or as run. It
counts once in any case, and what could not run is told to the model, never to the caller.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from fisk_ai import faults
from fisk_ai.agent import approval
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.effective import Denied, EffectiveCall, describe, resolve
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.events import ToolCallEvent, ToolResultEvent
from fisk_ai.agent.execution import execute
from fisk_ai.agent.hook_points import in_loop
from fisk_ai.agent.hooks import PostToolUse
from fisk_ai.agent.stats import count_call, count_dispatch
from fisk_ai.errors import DeferredError, StoreError
from fisk_ai.llm import deep
from fisk_ai.llm.model import ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.records import Deferred
from fisk_ai.text.sanitise import clean_surrogates, for_terminal
from fisk_ai.toolkit.contract import ArgumentValidator, Kind, Tool

CUT_OFF = "not run: the reply was cut off"
"""What the model is told of a call whose reply ended at the output limit."""

TOO_DEEP = (
    f"not run: its arguments are nested more than {deep.DEPTH_LIMIT} levels deep; flatten them"
)
"""What the model is told of a call whose arguments no session can hold."""

UNKNOWN_TOOLS = 32
"""Unknown tools a run warns of, each once: a model may ask for the same one a thousand times."""

NOTE_LIMIT = 500
HANDLE_LIMIT = 200
"""Code points of a deferral that are kept: enough for a person to find who is to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A call's result; ``dispatched`` says that its tool was handed it."""

    result: ToolResultBlock
    kind: Kind
    dispatched: bool = False


async def answer(active: ActiveRun, call: ToolUseBlock) -> Answer | Deferred:
    """Do one call, or say why it was not done, or that its answer comes later.

    Raises:
        TurnOver: the call has no result: nobody answered the gate, the run was asked to park, a
            hook ended it, or the session is no longer this run's.
    """
    tool = active.tools.by_name.get(call.name)
    if tool is None:
        return await _unknown(active, call)
    if call.input == deep.LEFT_OUT:
        return await _too_deep(active, call, tool)
    effective = await resolve(active, call, tool)
    if isinstance(effective, Denied):
        return await _denied(active, call, effective)
    count_call(active.stats, effective.info.kind)
    try:
        return await _settle(active, effective)
    except DeferredError as exc:
        return _deferral(effective, exc)


def cut_off(active: ActiveRun, call: ToolUseBlock) -> Answer:
    """Answer a call of a truncated reply, whose arguments may be half of what was meant."""
    tool = active.tools.by_name.get(call.name)
    kind = describe(tool, call.input).kind if tool is not None else "unknown"
    count_call(active.stats, kind)
    return Answer(result=ToolResultBlock(call.id, CUT_OFF, is_error=True), kind=kind)


async def _unknown(active: ActiveRun, call: ToolUseBlock) -> Answer:
    count_call(active.stats, "unknown")
    if len(active.unknown_tools) < UNKNOWN_TOOLS and call.name not in active.unknown_tools:
        active.unknown_tools.add(call.name)
        await active.warn("unknown_tool", name=call.name)
    text = f'unknown tool "{call.name}"'
    return Answer(result=ToolResultBlock(call.id, text, is_error=True), kind="unknown")


async def _too_deep(active: ActiveRun, call: ToolUseBlock, tool: Tool) -> Answer:
    kind = describe(tool, call.input).kind
    count_call(active.stats, kind)
    await active.warn("arguments_too_deep", name=call.name, count=deep.DEPTH_LIMIT)
    return Answer(result=ToolResultBlock(call.id, TOO_DEEP, is_error=True), kind=kind)


async def _denied(active: ActiveRun, call: ToolUseBlock, denied: Denied) -> Answer:
    count_call(active.stats, denied.kind)
    await active.warn("policy_denied", name=call.name, error=denied.reason)
    return Answer(result=ToolResultBlock(call.id, denied.reason, is_error=True), kind=denied.kind)


def _deferral(effective: EffectiveCall, error: DeferredError) -> Deferred:
    return Deferred(
        tool_use_id=effective.call.id,
        tool_name=effective.tool.name,
        note=for_terminal(error.note, NOTE_LIMIT),
        handle=for_terminal(error.handle, HANDLE_LIMIT),
    )


async def _settle(active: ActiveRun, effective: EffectiveCall) -> Answer:
    refused = await _missing(active, effective)
    ruling = approval.Ruling(refused=refused)
    if refused is None:
        ruling = await approval.rule(active, effective)
    if ruling.refused is not None:
        return Answer(result=ruling.refused, kind=effective.info.kind)
    active.heed_suspend()  # asking a person takes long enough to be told to stop meanwhile
    return await _dispatch(active, effective, ruling.person_s)


async def _missing(active: ActiveRun, effective: EffectiveCall) -> ToolResultBlock | None:
    call, tool = effective.call, effective.tool
    if not isinstance(tool, ArgumentValidator):
        return None
    names = tool.missing_required(call.input)
    if not names:
        return None
    await active.warn("missing_required", name=tool.name, error=", ".join(names))
    return ToolResultBlock(call.id, tool.missing_required_message(names), is_error=True)


async def _dispatch(active: ActiveRun, effective: EffectiveCall, person_s: float) -> Answer:
    info = effective.info
    await active.events.tool_call(_call_event(effective))
    count_dispatch(active.stats, info.kind)
    await _require_held(active)
    active.unrecorded = True
    faults.point(faults.Point.TOOL_BEFORE, effective.tool.name)
    began = time.monotonic()
    result = await execute(active, effective)
    took_s = time.monotonic() - began
    faults.point(faults.Point.TOOL_AFTER, effective.tool.name)
    result = await _replaced(active, effective, result)
    await active.events.tool_result(
        ToolResultEvent(
            call_id=result.tool_use_id,
            present=info.present,
            kind=info.kind,
            output=result.content,
            is_error=result.is_error,
            tool_s=0.0 if info.operator_paced else took_s,
            person_s=person_s + (took_s if info.operator_paced else 0.0),
        )
    )
    return Answer(result=result, kind=info.kind, dispatched=True)


async def _replaced(
    active: ActiveRun, effective: EffectiveCall, result: ToolResultBlock
) -> ToolResultBlock:
    """Return the result as the ``post_tool_use`` hook leaves it.

    The tool has run by then, so a hook that fails here leaves the call in doubt.
    """
    hook = active.hooks.post_tool_use
    if hook is None:
        return result
    with in_loop("post_tool_use", in_doubt=True):
        replacement = await hook(
            PostToolUse(
                tool_name=effective.tool.name,
                tool_use_id=effective.call.id,
                input=effective.call.input,
                kind=effective.info.kind,
                gated=effective.gated,
                output=result.content,
                is_error=result.is_error,
            )
        )
    if replacement is None:
        return result
    output = clean_surrogates(replacement.output)
    return ToolResultBlock(result.tool_use_id, output, is_error=replacement.is_error)


async def _require_held(active: ActiveRun) -> None:
    try:
        await active.journal.check_held()
    except StoreError as exc:
        text = f"it is no longer safe to continue this session: {exc}"
        raise TurnOver("error", StoreError(text), aborts=True) from exc


def _call_event(effective: EffectiveCall) -> ToolCallEvent:
    call, info = effective.call, effective.info
    return ToolCallEvent(
        id=call.id,
        name=call.name,
        display=info.display or call.name,
        display_short=info.display_short or info.display or call.name,
        input=call.input,
        present=info.present,
        kind=info.kind,
        agent=info.agent,
    )
