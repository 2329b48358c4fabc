"""Whether a call may run: the gate for gated tools, and for a call that may have run already.

A process that died while a tool ran left one call whose effect nobody knows. Repeating it is safe
only if the tool says so, or if it neither destroys nor needs a person anyway.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.cancellation import is_cancelled
from fisk_ai.agent.effective import EffectiveCall
from fisk_ai.agent.ending import TurnOver
from fisk_ai.errors import PromptAbortedError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.toolkit import tags
from fisk_ai.toolkit.contract import BehaviorDescriber, Confirmable, Tagged, Tool
from fisk_ai.toolkit.gate import Decision
from fisk_ai.toolkit.prompter import GateRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """Whether a call may run: ``refused`` is the result that stands in for one that may not.

    ``person_s`` are the seconds a person took to say so.
    """

    refused: ToolResultBlock | None = None
    person_s: float = 0.0


_FREE = Ruling()


async def rule(active: ActiveRun, effective: EffectiveCall) -> Ruling:
    """Say whether a call may run, asking a person where one has to allow it.

    A refused call has no events of its own, so an advisory tells people of it. Another one tells
    whoever approved a call from outside that the run which spent it was cut off.

    Raises:
        TurnOver: with ``suspended`` when the question ended without an answer: nothing is
            recorded and the next run asks again.
        DeferredError: the answer comes later.
    """
    doubtful = effective.call.id == active.doubtful_call and not _may_repeat(effective)
    if not doubtful and not effective.gated:
        return _FREE
    question = _question(active, effective)
    fresh_only = doubtful and not _is_approved_since(active, question)
    if fresh_only and _is_spent(active, effective.call.id):
        await active.warn("approval_spent", name=effective.tool.name)
    began = time.monotonic()
    decision = await _decision(active, question, effective.tool.name, fresh_only=fresh_only)
    person_s = time.monotonic() - began
    if decision.granted is not None:
        active.staged_grants.append(decision.granted)
    if decision.allowed:
        return Ruling(person_s=person_s)
    kind = "call_in_doubt" if decision.is_error else "confirm_denied"
    await active.warn(kind, name=effective.tool.name, error=decision.cause)
    text = decision.result_text()
    return Ruling(
        refused=ToolResultBlock(effective.call.id, text, is_error=decision.is_error),
        person_s=person_s,
    )


async def _decision(
    active: ActiveRun, question: GateRequest, tool_name: str, *, fresh_only: bool
) -> Decision:
    try:
        return await active.gate.approve(
            question, tool_name, fresh_only=fresh_only, cancelled=is_cancelled
        )
    except PromptAbortedError as exc:
        raise TurnOver("suspended", exc) from exc


def _is_approved_since(active: ActiveRun, question: GateRequest) -> bool:
    """Say whether somebody allowed these very arguments since the call came into doubt."""
    approval = active.approved_since.get(question.tool_use_id)
    fits = approval is not None and approval.args_sha256 in ("", question.args_sha256)
    return fits and active.options.prompter.can_prompt()


def _is_spent(active: ActiveRun, call_id: str) -> bool:
    """Say whether the only approval of a call was given before it came into doubt."""
    return call_id not in active.approved_since and active.gate.needs_renewal(call_id)


def _may_repeat(effective: EffectiveCall) -> bool:
    """Say whether a second run does no harm; both tools of a rewritten call have their say."""
    effects = [_effects(tool) for tool in (effective.original, effective.tool)]
    if all(idempotent for _, idempotent in effects):
        return True
    return not (effective.gated or any(destructive for destructive, _ in effects))


def _effects(tool: Tool) -> tuple[bool, bool]:
    own = tool.tags() if isinstance(tool, Tagged) else ()
    destructive, idempotent = tags.DESTRUCTIVE in own, tags.IDEMPOTENT in own
    if isinstance(tool, BehaviorDescriber):
        behavior = tool.behavior()
        destructive = destructive or behavior.destructive is True
        idempotent = idempotent or behavior.idempotent is True
    return destructive, idempotent


def _question(active: ActiveRun, effective: EffectiveCall) -> GateRequest:
    """Return the question about the call that will be made, and the tag that asks for it."""
    call, tool = effective.call, effective.tool
    display, command = effective.info.display or tool.name, tool.name
    if isinstance(tool, Confirmable):
        display = tool.trace_line(call.input) or display
        command = tool.command()
    return GateRequest(
        tool_use_id=call.id,
        command=command,
        display=display,
        tag=_trigger(active, tool) or _trigger(active, effective.original),
        args_sha256=args_sha256(tool.name, call.input),
    )


def _trigger(active: ActiveRun, tool: Tool) -> str:
    tags_of_file = active.config.harness.confirm_tags
    return tool.confirm_trigger(tags_of_file) if isinstance(tool, Confirmable) else ""
