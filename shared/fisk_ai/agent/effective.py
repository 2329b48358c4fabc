"""The call as it will really be made: what the model asked for, or what a hook made of it.

A hook cannot strip a gate by sending a call elsewhere: the call is gated when the tool the model
named is, or the tool that will run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.hook_points import in_loop
from fisk_ai.agent.hooks import PreToolUse, ToolVerdict
from fisk_ai.errors import RefusedError
from fisk_ai.llm.model import ToolUseBlock
from fisk_ai.text import gojson
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.toolkit.contract import CallInfo, Confirmable, Describer, Kind, Tool

DENIED = "the tool call was denied by a policy hook"
"""What the model reads of a call a hook denied without a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveCall:
    """A call to be made; ``call`` keeps the model's id and holds the name and input that count.

    ``original`` is the tool the model named. ``gated`` says that a person must allow the call.
    """

    call: ToolUseBlock
    tool: Tool
    info: CallInfo
    original: Tool
    gated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """A hook refused the call of a tool of this ``kind``."""

    reason: str
    kind: Kind


def describe(tool: Tool, raw: bytes) -> CallInfo:
    """Return what a tool says of a call; one that says nothing is of no known kind."""
    return tool.describe(raw) if isinstance(tool, Describer) else CallInfo()


def is_gated(active: ActiveRun, tool: Tool) -> bool:
    """Say whether a person must allow this tool; one that cannot tell is not gated here."""
    return isinstance(tool, Confirmable) and tool.needs_confirm(active.config.harness.confirm_tags)


async def resolve(active: ActiveRun, call: ToolUseBlock, tool: Tool) -> EffectiveCall | Denied:
    """Ask the ``pre_tool_use`` hook about a call of ``tool`` and return what is to be made.

    Raises:
        TurnOver: with ``error``: the hook failed, or sent the call where none can be made.
    """
    info, gated = describe(tool, call.input), is_gated(active, tool)
    asked = EffectiveCall(call=call, tool=tool, info=info, original=tool, gated=gated)
    hook = active.hooks.pre_tool_use
    if hook is None:
        return asked
    with in_loop("pre_tool_use"):
        verdict = await hook(
            PreToolUse(
                tool_name=tool.name,
                tool_use_id=call.id,
                input=call.input,
                kind=info.kind,
                gated=gated,
            )
        )
    if verdict is None:
        return asked
    if verdict.deny:
        return Denied(reason=clean_surrogates(verdict.reason) or DENIED, kind=info.kind)
    return _rewritten(active, asked, verdict)


def _rewritten(active: ActiveRun, asked: EffectiveCall, verdict: ToolVerdict) -> EffectiveCall:
    if not verdict.rewrite_tool and verdict.rewrite_input is None:
        return asked
    name = verdict.rewrite_tool or asked.tool.name
    tool = active.tools.by_name.get(name)
    if tool is None:
        raise _abort(
            f'the pre_tool_use hook sent the call of "{asked.tool.name}" to "{name}", which is no '
            "tool of this run"
        )
    raw = asked.call.input if verdict.rewrite_input is None else _input(tool, verdict.rewrite_input)
    return EffectiveCall(
        call=replace(asked.call, name=name, input=raw),
        tool=tool,
        info=describe(tool, raw),
        original=asked.original,
        gated=asked.gated or is_gated(active, tool),
    )


def _input(tool: Tool, raw: bytes) -> bytes:
    try:
        gojson.loads(raw)
    except ValueError as exc:
        error = _abort(f'the pre_tool_use hook gave "{tool.name}" an input that is no JSON: {exc}')
        raise error from exc
    return gojson.compact(raw)


def _abort(text: str) -> TurnOver:
    return TurnOver("error", RefusedError(text), aborts=True)
