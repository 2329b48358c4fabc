"""One run from its options to its result: set-up, session, loop, tear-down.

A library call never loses the counters of a failed run, so the error stands beside the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fisk_ai.agent import barrier, checkpoint, resume, session
from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.driver import drive
from fisk_ai.agent.ending import TurnEnd
from fisk_ai.agent.events import EventSink, Starting
from fisk_ai.agent.options import DeferredCall, RunOptions, RunOutcome, RunResult, Stats
from fisk_ai.agent.prompt import system_blocks
from fisk_ai.agent.session import Session
from fisk_ai.agent.setup import Setup, prepare
from fisk_ai.errors import FiskError, StoreError
from fisk_ai.toolkit.contract import Advisory
from fisk_ai.toolkit.gate import ConfirmGate


@dataclass(slots=True)
class _Seen:
    """What is known of the run so far, for a result that comes early."""

    session_id: str = ""
    stats: Stats | None = field(default=None)


async def run(options: RunOptions) -> RunOutcome:
    """Run an agent on one prompt, or go on with a session, to the end of the turn.

    Nothing that was injected is closed. An error beside a result without a reason says that the
    run never reached its loop; ``crashed`` says that it met a bug, whose details went to
    ``events.panicked`` alone.

    Raises:
        asyncio.CancelledError: the task was cancelled. The journal is closed by then, and the
            session can be resumed.
    """
    seen = _Seen()
    try:
        return await _run(options, seen)
    except FiskError as exc:
        return RunResult(session_id=seen.session_id, stats=seen.stats), exc
    except Exception as exc:  # noqa: BLE001 - the one barrier between a bug and the caller
        error = await barrier.report(exc, options.events)
        return RunResult(session_id=seen.session_id, stats=seen.stats, crashed=True), error


async def _run(options: RunOptions, seen: _Seen) -> RunOutcome:
    checkpoint.validate(options)
    setup = await prepare(options)
    seen.stats = Stats()
    opened = await _open(setup)
    if isinstance(opened, RunResult):
        return opened, None
    seen.session_id, seen.stats = opened.session_id, opened.stats
    try:
        return await _drive(setup, opened)
    finally:
        await _close(opened, options.events)


async def _open(setup: Setup) -> Session | RunResult:
    wanted = setup.options.checkpoint
    if wanted is None or not checkpoint.journals(wanted):
        return session.unrecorded(setup)
    found = await resume.take_up(setup, wanted) if wanted.resume_id else None
    return await session.create(setup, wanted) if found is None else found


async def _drive(setup: Setup, opened: Session) -> RunOutcome:
    options = setup.options
    await options.events.starting(_starting(setup, opened))
    for advisory in opened.advisories:
        await options.events.warn(advisory)
    held = options.checkpoint.approval if options.checkpoint is not None else None
    active = ActiveRun(
        options=options,
        config=setup.config,
        tools=setup.tools,
        system_blocks=system_blocks(setup.config.system_prompt, resumed=opened.resumed),
        conversation=opened.conversation,
        journal=opened.journal,
        gate=ConfirmGate(
            options.prompter, standing=opened.standing, one_shot=opened.one_shot, held=held
        ),
        stats=opened.stats,
        session_id=opened.session_id,
        doubtful_call=opened.doubtful_call,
    )
    end = await drive(active)
    return _result(active, end), end.error


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


async def _close(opened: Session, events: EventSink) -> None:
    try:
        await opened.journal.close()
    except StoreError as exc:
        await events.warn(Advisory(kind="journal_close", error=str(exc)))
