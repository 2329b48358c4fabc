"""Running a tool: what it is handed, how long it may take, and what its failures become.

Everything a tool does wrong is an answer for the model. Only a question that was interrupted ends
the turn, since a person may still answer it.
"""

from __future__ import annotations

import asyncio

from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.cancellation import is_cancelled
from fisk_ai.agent.ending import TurnOver
from fisk_ai.errors import PromptAbortedError
from fisk_ai.llm.model import ToolResultBlock, ToolUseBlock
from fisk_ai.text.duration import go_duration
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.toolkit import envelope
from fisk_ai.toolkit.contract import CallContext, CallInfo, ExecDeps, Tool, ToolOutcome
from fisk_ai.toolkit.gate import control_error
from fisk_ai.toolkit.prompter import DefaultDenyPrompter


async def execute(
    active: ActiveRun, call: ToolUseBlock, tool: Tool, info: CallInfo
) -> ToolResultBlock:
    """Run ``tool`` once and return what the model reads.

    Raises:
        TurnOver: with ``suspended`` when the tool's own question was interrupted.
    """
    limit_s = _limit(active, info)
    deadline = asyncio.timeout(limit_s)
    try:
        async with deadline:
            outcome = await tool.execute(_context(active, call), call.input, _deps(active, info))
        return ToolResultBlock(call.id, clean_surrogates(_text(outcome)))
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        text = f'the tool "{tool.name}" was cancelled from within and returned nothing'
    except Exception as exc:
        control = control_error(exc)
        if isinstance(control, PromptAbortedError):
            raise TurnOver("suspended", control) from exc
        text = str(exc) or type(exc).__name__ if control is None else _answers_later(tool)
    if limit_s is not None and deadline.expired():
        text = await _timed_out(active, tool, limit_s)
    return ToolResultBlock(call.id, clean_surrogates(text), is_error=True)


def _limit(active: ActiveRun, info: CallInfo) -> float | None:
    """Return the seconds a call may take; a person's thinking time is not the tool's."""
    configured = active.config.harness.tool_timeout_s
    return configured if configured > 0 and not info.operator_paced else None


def _context(active: ActiveRun, call: ToolUseBlock) -> CallContext:
    return CallContext(call_ref=f"{active.session_id}/{call.id}" if active.session_id else "")


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


def _answers_later(tool: Tool) -> str:
    return (
        f'the tool "{tool.name}" answers later, and answers that come later are not built yet; '
        "it may be at work, so do not call it again"
    )


async def _timed_out(active: ActiveRun, tool: Tool, limit_s: float) -> str:
    span = go_duration(limit_s)
    await active.warn("tool_timeout", name=tool.name, error=f"did not finish within {span}")
    return (
        f'the tool "{tool.name}" was stopped by the agent\'s tool timeout after {span}: it '
        "returned no output and its work may be incomplete, so do not repeat the identical call"
    )
