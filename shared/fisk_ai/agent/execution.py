"""Running a tool: what it is handed, how long it may take, and what its failures become.

Everything a tool does wrong is an answer for the model, but for three: a question that was
interrupted ends the turn, since a person may still answer it; an answer that comes later leaves
the call open; and a failure the tool calls fatal ends the run.
"""

from __future__ import annotations

from fisk_ai.agent import foreign_tools
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.apart import COMMAND_GRACE_S, GRACE_S, OutOfTimeError, StrayError, said
from fisk_ai.agent.effective import EffectiveCall
from fisk_ai.agent.ending import TurnOver
from fisk_ai.errors import DeferredError, FatalToolError, PromptAbortedError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.text.duration import go_duration
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.toolkit import envelope
from fisk_ai.toolkit.bounds import bounded
from fisk_ai.toolkit.contract import CallContext, CallInfo, ExecDeps, Tool, ToolOutcome
from fisk_ai.toolkit.functool import OWN_KINDS
from fisk_ai.toolkit.gate import control_error
from fisk_ai.toolkit.prompter import DefaultDenyPrompter

GIVEN_UP = "it takes no notice of its cancellation and was left behind"
"""What people are told of a tool that goes on although its run does not wait for it."""


async def execute(active: ActiveRun, effective: EffectiveCall) -> ToolResultBlock:
    """Run a call once and return what the model reads.

    Raises:
        DeferredError: the tool's answer comes later.
        TurnOver: with ``suspended`` when the tool's own question was interrupted, with ``error``
            when its failure is fatal.
    """
    call, tool = effective.call, effective.tool
    context, deps = _context(active, call.id), _deps(active, effective.info)
    limit_s = _limit(active, effective.info)
    try:
        outcome = await foreign_tools.call(
            tool,
            call.input,
            context,
            deps=deps,
            limit_s=limit_s,
            grace_s=_grace(effective.info),
        )
        return ToolResultBlock(call.id, bounded(clean_surrogates(_text(outcome))))
    except OutOfTimeError as exc:
        _raise_beyond_the_model(exc.__cause__)
        text = await _timed_out(active, tool, limit_s or 0.0, heeded=exc.heeded)
    except StrayError as exc:
        _raise_beyond_the_model(exc.__cause__)
        text = f'the tool "{tool.name}" {exc.in_full(" and returned nothing")}'
    except Exception as exc:  # noqa: BLE001 - whatever a tool raises is its answer
        _raise_beyond_the_model(exc)
        text = said(exc)
    return ToolResultBlock(call.id, bounded(clean_surrogates(text)), is_error=True)


def _raise_beyond_the_model(error: BaseException | None) -> None:
    """Raise what becomes of a failure that is no answer for the model."""
    if error is None:
        return
    control = control_error(error)
    if isinstance(control, PromptAbortedError):
        raise TurnOver("suspended", control) from error
    if control is not None:
        raise DeferredError(control.note, control.handle) from error
    if isinstance(error, FatalToolError):
        raise TurnOver("error", error, aborts=True, in_doubt=True) from error


def _limit(active: ActiveRun, info: CallInfo) -> float | None:
    """Return the seconds a call may take; a person's thinking time is not the tool's."""
    configured = active.config.harness.tool_timeout_s
    return configured if configured > 0 and not info.operator_paced else None


def _grace(info: CallInfo) -> float:
    """Return the seconds a cancelled call may take to end."""
    return GRACE_S if info.kind in OWN_KINDS else COMMAND_GRACE_S


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


async def _timed_out(active: ActiveRun, tool: Tool, limit_s: float, *, heeded: bool) -> str:
    span = go_duration(limit_s)
    told = f"did not finish within {span}"
    end = "was stopped by" if heeded else "does not end and was given up by"
    state = "may be incomplete" if heeded else "may still go on"
    await active.warn(
        "tool_timeout", name=tool.name, error=told if heeded else f"{told}; {GIVEN_UP}"
    )
    return (
        f'the tool "{tool.name}" {end} the agent\'s tool timeout after {span}: it '
        f"returned no output and its work {state}, so do not repeat the identical call"
    )
