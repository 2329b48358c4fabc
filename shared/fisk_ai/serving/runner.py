"""How a piece of work becomes a run of the agent, and a run an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fisk_ai.agent.hooks import Hooks
from fisk_ai.agent.options import RunOptions, RunResult, RunTrace
from fisk_ai.agent.run import run
from fisk_ai.config import Config
from fisk_ai.llm.provider import Provider
from fisk_ai.memory.store import MemoryStore
from fisk_ai.serving.barrier import Runner
from fisk_ai.serving.contract import Outcome, Work
from fisk_ai.serving.narration import Narration
from fisk_ai.sessions.store import Store
from fisk_ai.toolkit.contract import Advisory, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a worker builds once and every run uses; a run closes none of it."""

    config: Config
    provider: Provider
    session_store: Store
    app_tools: Sequence[Tool] = ()
    app_advisories: Sequence[Advisory] = ()
    remote_tools: Sequence[Tool] = ()
    custom_tools: Sequence[Tool] = ()
    hooks: Hooks = field(default_factory=Hooks)
    memory_store: MemoryStore | None = None
    trace: RunTrace | None = None
    tool_work_dir: Path | None = None
    store_dir: Path | None = None
    verbose: bool = False


def build_runner(resources: Resources) -> Runner:
    """Return what runs one piece of work."""

    async def run_work(work: Work) -> Outcome:
        result, error = await run(options_of(work, resources))
        return outcome_of_run(work, result, error)

    return run_work


def options_of(work: Work, resources: Resources) -> RunOptions:
    """Return the options of the run that does ``work``; the caller's budget can only lower."""
    checkpoint = work.checkpoint
    if checkpoint is not None and work.caller.name:
        checkpoint = replace(checkpoint, caller=work.caller.name)
    return RunOptions(
        config=resources.config,
        provider=resources.provider,
        session_store=resources.session_store,
        app_tools=resources.app_tools,
        app_advisories=resources.app_advisories,
        remote_tools=resources.remote_tools,
        custom_tools=resources.custom_tools,
        hooks=resources.hooks,
        memory_store=resources.memory_store,
        trace=resources.trace,
        prompt=work.prompt,
        context=work.context,
        checkpoint=checkpoint,
        claimed_by=work.claimed_by,
        suspend_requested=work.suspend_requested,
        human_paced=work.human_paced,
        verbose=resources.verbose,
        tool_work_dir=resources.tool_work_dir,
        store_dir=resources.store_dir,
        budget=work.budget,
        events=Narration(work.events, work.id),
        prompter=work.prompter,
    )


def outcome_of_run(work: Work, result: RunResult, error: Exception | None) -> Outcome:
    """Return the outcome a channel is told."""
    return Outcome(
        id=work.id,
        session_id=result.session_id,
        text=result.text,
        reason=result.reason,
        stats=result.stats,
        error=error,
        crashed=result.crashed,
        deferred=result.deferred,
        follow_up_taken=result.follow_up_taken,
    )
