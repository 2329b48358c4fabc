"""Whether a call may run: the gate for gated tools, and for a call that may have run already.

A process that died while a tool ran left one call whose effect nobody knows. Repeating it is safe
only if the tool says so, or if it neither destroys nor needs a person anyway.
"""

from __future__ import annotations

from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.cancellation import is_cancelled
from fisk_ai.agent.ending import TurnOver
from fisk_ai.errors import DeferredError, PromptAbortedError
from fisk_ai.llm.model import ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.toolkit import tags
from fisk_ai.toolkit.contract import BehaviorDescriber, CallInfo, Confirmable, Tagged, Tool
from fisk_ai.toolkit.prompter import GateRequest


async def refusal(
    active: ActiveRun, call: ToolUseBlock, tool: Tool, info: CallInfo
) -> ToolResultBlock | None:
    """Return the result that stands in for a call that may not run; ``None`` lets it run.

    Such a call has no events of its own, so an advisory tells people of it.

    Raises:
        TurnOver: with ``suspended`` when the question ended without an answer: nothing is
            recorded and the next run asks again.
    """
    doubtful = call.id == active.doubtful_call and not _may_repeat(active, tool)
    if not doubtful and not is_gated(active, tool):
        return None
    try:
        decision = await active.gate.approve(
            _question(active, call, tool, info),
            tool.name,
            fresh_only=doubtful,
            cancelled=is_cancelled,
        )
    except (PromptAbortedError, DeferredError) as exc:
        raise TurnOver("suspended", exc) from exc
    if decision.granted is not None:
        active.staged_grants.append(decision.granted)
    if decision.allowed:
        return None
    kind = "call_in_doubt" if decision.is_error else "confirm_denied"
    await active.warn(kind, name=tool.name, error=decision.cause)
    return ToolResultBlock(call.id, decision.result_text(), is_error=decision.is_error)


def is_gated(active: ActiveRun, tool: Tool) -> bool:
    """Say whether a person must allow this tool; one that cannot tell is not gated here."""
    return isinstance(tool, Confirmable) and tool.needs_confirm(active.config.harness.confirm_tags)


def _may_repeat(active: ActiveRun, tool: Tool) -> bool:
    destructive, idempotent = _effects(tool)
    return idempotent or not (destructive or is_gated(active, tool))


def _effects(tool: Tool) -> tuple[bool, bool]:
    own = tool.tags() if isinstance(tool, Tagged) else ()
    destructive, idempotent = tags.DESTRUCTIVE in own, tags.IDEMPOTENT in own
    if isinstance(tool, BehaviorDescriber):
        behavior = tool.behavior()
        destructive = destructive or behavior.destructive is True
        idempotent = idempotent or behavior.idempotent is True
    return destructive, idempotent


def _question(active: ActiveRun, call: ToolUseBlock, tool: Tool, info: CallInfo) -> GateRequest:
    display, command, tag = info.display or tool.name, tool.name, ""
    if isinstance(tool, Confirmable):
        display = tool.trace_line(call.input) or display
        command = tool.command()
        tag = tool.confirm_trigger(active.config.harness.confirm_tags)
    return GateRequest(
        tool_use_id=call.id,
        command=command,
        display=display,
        tag=tag,
        args_sha256=args_sha256(tool.name, call.input),
    )
