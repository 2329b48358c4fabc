"""One run from its options to its result: set-up, session, loop, tear-down.

A library call never loses the counters of a failed run, so the error stands beside the result.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

from fisk_ai.agent import (
    barrier,
    cancellation,
    checkpoint,
    closing,
    hook_points,
    protection,
    resume,
    session,
)
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.driver import drive
from fisk_ai.agent.ending import TurnEnd
from fisk_ai.agent.events import Starting
from fisk_ai.agent.hook_points import PromptDeniedError
from fisk_ai.agent.options import DeferredCall, RunOptions, RunOutcome, RunResult, Stats
from fisk_ai.agent.progress import Progress
from fisk_ai.agent.prompt import first_prompt, system_blocks
from fisk_ai.agent.session import Session
from fisk_ai.agent.setup import Setup, prepare
from fisk_ai.errors import FiskError, StoreError
from fisk_ai.memory import scope
from fisk_ai.memory.index import index_block
from fisk_ai.toolkit.contract import Advisory
from fisk_ai.toolkit.gate import ConfirmGate


async def run(options: RunOptions) -> RunOutcome:
    """Run an agent on one prompt, or go on with a session, to the end of the turn.

    With ``next_prompt`` it goes on to the end of the conversation. Nothing that was injected is
    closed. An error beside a result without a reason says that the run never reached its loop;
    ``crashed`` says that it met a bug, whose details went to ``events.panicked`` alone. The task
    can be cancelled until its outcome stands; what comes later only ends the last hook.

    Raises:
        asyncio.CancelledError: the task was cancelled. The journal is closed by then, and the
            session can be resumed.
    """
    progress = Progress(options)
    with scope.attached():
        try:
            return await _told(options, progress)
        except asyncio.CancelledError:
            await progress.tell_end("suspended", None)
            raise
        except barrier.NOT_OURS:
            raise
        except BaseException as exc:  # noqa: BLE001 - the one barrier between a bug and the caller
            return await barrier.crash(exc, options, progress)


async def _told(options: RunOptions, progress: Progress) -> RunOutcome:
    result, error = await _outcome(options, progress)
    try:
        await progress.tell_end(result.reason, error)
    except asyncio.CancelledError:
        cancellation.take_back()
    return result, error


async def _outcome(options: RunOptions, progress: Progress) -> RunOutcome:
    try:
        return await _run(options, progress)
    except PromptDeniedError as exc:
        return progress.failed(reason="error"), exc
    except FiskError as exc:
        return progress.failed(), exc


async def _run(options: RunOptions, progress: Progress) -> RunOutcome:
    checkpoint.validate(options)
    setup = await prepare(options)
    progress.set_up_stats = Stats()
    async with AsyncExitStack() as closers:
        setup = protection.guard(setup, closers)
        opened = await _open(setup)
        if isinstance(opened, RunResult):
            return opened, None
        active = progress.active = _activate(setup, opened)
        try:
            end = await _drive(setup, opened, active)
        finally:
            await closing.close(active)
        return _result(active, end), end.error


async def _open(setup: Setup) -> Session | RunResult:
    wanted = setup.options.checkpoint
    if wanted is not None and wanted.resume_id:
        found = await resume.take_up(setup, wanted)
        if found is not None:
            return found
    setup = await _vetted(setup)
    if wanted is None or not checkpoint.journals(wanted):
        return session.unrecorded(setup)
    return await session.create(setup, wanted)


async def _vetted(setup: Setup) -> Setup:
    """Announce a fresh run and let the hooks see its first words; nothing is created before."""
    await hook_points.announce(setup.hooks, setup.start(resumed=False))
    prompt, context = await hook_points.vet_all(
        setup.hooks, setup.prompt, setup.context, initial=True
    )
    return replace(setup, prompt=first_prompt(prompt), context=context)


def _activate(setup: Setup, opened: Session) -> ActiveRun:
    options = setup.options
    return ActiveRun(
        options=options,
        config=setup.config,
        hooks=setup.hooks,
        fingerprint=setup.fingerprint,
        tools=setup.tools,
        system_blocks=system_blocks(
            setup.config.system_prompt, setup.notes, resumed=opened.resumed
        ),
        conversation=opened.conversation,
        journal=opened.journal,
        gate=ConfirmGate(
            options.prompter, standing=opened.standing, one_shot=opened.one_shot, held=opened.held
        ),
        stats=opened.stats,
        session_id=opened.session_id,
        caller=opened.caller,
        doubtful_call=opened.doubtful_call,
        approved_since=opened.approved_since,
    )


async def _drive(setup: Setup, opened: Session, active: ActiveRun) -> TurnEnd:
    await active.events.starting(_starting(setup, opened))
    for advisory in opened.advisories:
        await active.events.warn(advisory)
    index = await _memory_index(setup)
    active.system_blocks = (*active.system_blocks, *index)
    return await drive(active)


async def _memory_index(setup: Setup) -> tuple[str, ...]:
    """Return what the memory holds now, as the last system block; without it a run goes on."""
    memory, store = setup.config.harness.memory, setup.options.memory_store
    if store is None or memory.no_index or not memory.enabled:
        return ()
    try:
        return (await index_block(store),)
    except StoreError as exc:
        await setup.options.events.warn(Advisory(kind="memory_index", error=str(exc)))
        return ()


def _starting(setup: Setup, opened: Session) -> Starting:
    config = setup.config
    return Starting(
        tools=len(setup.options.app_tools),
        thinking_enabled=config.llm.thinking_enabled is True,
        confirm_tools=setup.confirm_tools,
        confirm_tags=tuple(config.harness.confirm_tags),
        session_id=opened.session_id,
        resumed=opened.resumed,
        no_application=not config.application_path,
        standing_approvals=opened.standing,
        traced=setup.options.trace is not None,
    )


def _result(active: ActiveRun, end: TurnEnd) -> RunResult:
    batch = active.conversation.batch
    waiting = batch.open_deferrals() if batch is not None else []
    return RunResult(
        reason=end.reason,
        session_id=active.session_id,
        text=active.conversation.text,
        stats=active.stats,
        deferred=tuple(
            DeferredCall(
                tool_use_id=item.tool_use_id,
                tool_name=item.tool_name,
                note=item.note,
                handle=item.handle,
            )
            for item in waiting
        ),
        follow_up_taken=active.follow_up_taken,
    )
