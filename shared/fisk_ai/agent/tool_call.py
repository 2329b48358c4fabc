"""One tool call from the model's words to its result; every way it can end is here.

A call ends as unknown, as incomplete, as refused, or as run. It counts once in any case, and what
could not run is told to the model, never to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

from fisk_ai import faults
from fisk_ai.agent import approval
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.events import ToolCallEvent, ToolResultEvent
from fisk_ai.agent.execution import execute
from fisk_ai.agent.stats import count_call, count_dispatch
from fisk_ai.errors import StoreError
from fisk_ai.llm.model import ToolResultBlock, ToolUseBlock
from fisk_ai.toolkit.contract import ArgumentValidator, CallInfo, Describer, Kind, Tool

CUT_OFF = "not run: the reply was cut off"
"""What the model is told of a call whose reply ended at the output limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A call's result; ``dispatched`` says that the tool was really started."""

    result: ToolResultBlock
    kind: Kind
    dispatched: bool = False


async def answer(active: ActiveRun, call: ToolUseBlock) -> Answer:
    """Do one call, or say why it was not done.

    Raises:
        TurnOver: the call has no result: nobody answered the gate, the run was asked to park, or
            the session is no longer this run's.
    """
    tool = active.tools.by_name.get(call.name)
    if tool is None:
        return await _unknown(active, call)
    info = _describe(tool, call.input)
    count_call(active.stats, info.kind)
    refused = await _missing(active, call, tool)
    if refused is None:
        refused = await approval.refusal(active, call, tool, info)
    if refused is not None:
        return Answer(result=refused, kind=info.kind)
    active.heed_suspend()  # asking a person takes long enough to be told to stop meanwhile
    return await _dispatch(active, call, tool, info)


def cut_off(active: ActiveRun, call: ToolUseBlock) -> Answer:
    """Answer a call of a truncated reply, whose arguments may be half of what was meant."""
    tool = active.tools.by_name.get(call.name)
    kind = _describe(tool, call.input).kind if tool is not None else "unknown"
    count_call(active.stats, kind)
    return Answer(result=ToolResultBlock(call.id, CUT_OFF, is_error=True), kind=kind)


def _describe(tool: Tool, raw: bytes) -> CallInfo:
    return tool.describe(raw) if isinstance(tool, Describer) else CallInfo()


async def _unknown(active: ActiveRun, call: ToolUseBlock) -> Answer:
    count_call(active.stats, "unknown")
    await active.warn("unknown_tool", name=call.name)
    text = f'unknown tool "{call.name}"'
    return Answer(result=ToolResultBlock(call.id, text, is_error=True), kind="unknown")


async def _missing(active: ActiveRun, call: ToolUseBlock, tool: Tool) -> ToolResultBlock | None:
    if not isinstance(tool, ArgumentValidator):
        return None
    names = tool.missing_required(call.input)
    if not names:
        return None
    await active.warn("missing_required", name=tool.name, error=", ".join(names))
    return ToolResultBlock(call.id, tool.missing_required_message(names), is_error=True)


async def _dispatch(active: ActiveRun, call: ToolUseBlock, tool: Tool, info: CallInfo) -> Answer:
    await active.events.tool_call(_call_event(call, tool, info))
    count_dispatch(active.stats, info.kind)
    await _require_held(active)
    active.unrecorded = True
    faults.point(faults.Point.TOOL_BEFORE, tool.name)
    result = await execute(active, call, tool, info)
    faults.point(faults.Point.TOOL_AFTER, tool.name)
    await active.events.tool_result(
        ToolResultEvent(
            call_id=call.id,
            present=info.present,
            kind=info.kind,
            output=result.content,
            is_error=result.is_error,
        )
    )
    return Answer(result=result, kind=info.kind, dispatched=True)


async def _require_held(active: ActiveRun) -> None:
    try:
        await active.journal.check_held()
    except StoreError as exc:
        text = f"it is no longer safe to continue this session: {exc}"
        raise TurnOver("error", StoreError(text)) from exc


def _call_event(call: ToolUseBlock, tool: Tool, info: CallInfo) -> ToolCallEvent:
    return ToolCallEvent(
        id=call.id,
        name=tool.name,
        display=info.display or tool.name,
        display_short=info.display_short or info.display or tool.name,
        input=call.input,
        present=info.present,
        kind=info.kind,
        agent=info.agent,
    )
