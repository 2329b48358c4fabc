"""Running a tool: what it is handed, how long it may take, and what its failures become.

Everything a tool does wrong is an answer for the model, but for three: a question that was
interrupted ends the turn, since a person may still answer it; an answer that comes later leaves
the call open; and a failure the tool calls fatal ends the run.
"""

from __future__ import annotations

import asyncio

from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.cancellation import is_cancelled
from fisk_ai.agent.effective import EffectiveCall
from fisk_ai.agent.ending import TurnOver
from fisk_ai.errors import DeferredError, FatalToolError, PromptAbortedError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.text.duration import go_duration
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.toolkit import envelope
from fisk_ai.toolkit.bounds import bounded
from fisk_ai.toolkit.contract import CallContext, CallInfo, ExecDeps, Tool, ToolOutcome
from fisk_ai.toolkit.gate import control_error
from fisk_ai.toolkit.prompter import DefaultDenyPrompter


async def execute(active: ActiveRun, effective: EffectiveCall) -> ToolResultBlock:
    """Run a call once and return what the model reads.

    Raises:
        DeferredError: the tool's answer comes later.
        TurnOver: with ``suspended`` when the tool's own question was interrupted, with ``error``
            when its failure is fatal.
    """
    call, tool = effective.call, effective.tool
    limit_s = _limit(active, effective.info)
    deadline = asyncio.timeout(limit_s)
    try:
        async with deadline:
            outcome = await tool.execute(
                _context(active, call.id), call.input, _deps(active, effective.info)
            )
        return ToolResultBlock(call.id, bounded(clean_surrogates(_text(outcome))))
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        text = f'the tool "{tool.name}" was cancelled from within and returned nothing'
    except Exception as exc:
        over = _beyond_the_model(exc)
        if over is not None:
            raise over from exc
        text = str(exc) or type(exc).__name__
    if limit_s is not None and deadline.expired() and not is_cancelled():
        text = await _timed_out(active, tool, limit_s)
    return ToolResultBlock(call.id, bounded(clean_surrogates(text)), is_error=True)


def _beyond_the_model(error: Exception) -> TurnOver | DeferredError | None:
    """Return what becomes of a failure that is no answer for the model."""
    control = control_error(error)
    if isinstance(control, PromptAbortedError):
        return TurnOver("suspended", control)
    if control is not None:
        return DeferredError(control.note, control.handle)
    if isinstance(error, FatalToolError):
        return TurnOver("error", error, aborts=True, in_doubt=True)
    return None


def _limit(active: ActiveRun, info: CallInfo) -> float | None:
    """Return the seconds a call may take; a person's thinking time is not the tool's."""
    configured = active.config.harness.tool_timeout_s
    return configured if configured > 0 and not info.operator_paced else None


def _context(active: ActiveRun, tool_use_id: str) -> CallContext:
    reference = f"{active.session_id}/{tool_use_id}" if active.session_id else ""
    return CallContext(call_ref=reference, tool_use_id=tool_use_id)


def _deps(active: ActiveRun, info: CallInfo) -> ExecDeps:
    options = active.options
    return ExecDeps(
        prompter=options.prompter if info.needs_prompter else DefaultDenyPrompter(),
        work_dir=options.tool_work_dir if info.needs_work_dir else None,
    )


def _text(outcome: ToolOutcome) -> str:
    if outcome.exec is None:
        return outcome.output
    return envelope.render(outcome.exec, outcome.output)


async def _timed_out(active: ActiveRun, tool: Tool, limit_s: float) -> str:
    span = go_duration(limit_s)
    await active.warn("tool_timeout", name=tool.name, error=f"did not finish within {span}")
    return (
        f'the tool "{tool.name}" was stopped by the agent\'s tool timeout after {span}: it '
        "returned no output and its work may be incomplete, so do not repeat the identical call"
    )
