"""Whether a run may continue a session; taking it is the last step.

The checks stand in a fixed order and have no effect, so whatever is refused leaves no record.
Rules: ``docs/reference/agent-loop.md``.
"""

from __future__ import annotations

from fisk_ai.agent.hook_points import announce, vet
from fisk_ai.agent.hooks import UserPrompt
from fisk_ai.agent.options import Checkpoint, RunResult, SuppliedAnswer
from fisk_ai.agent.session import Session
from fisk_ai.agent.setup import Setup
from fisk_ai.agent.stats import from_journal
from fisk_ai.agent.taking import Taking
from fisk_ai.errors import DriftError, EmptyError, LockedError, NotFoundError, RefusedError
from fisk_ai.sessions import fingerprint, supply
from fisk_ai.sessions.fingerprint import Drift
from fisk_ai.sessions.fold import answer_of
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Journal
from fisk_ai.text.sanitise import QUOTED_LIMIT, for_terminal

LOADS = 3
"""How often a session is read before it is left to whoever keeps writing to it."""


async def take_up(setup: Setup, checkpoint: Checkpoint) -> Session | RunResult | None:
    """Take the session ``checkpoint`` names, or give its stored answer.

    ``None`` says that there is none and that one may be created. Any other session is announced to
    the hooks before it is looked at, so that a run refused below has been heard of.

    Raises:
        NotFoundError: there is none.
        RefusedError: it is finished, belongs to another kind of run or another provider, or a hook
            refused the run.
        NotDeferredError, AlreadyAnsweredError, ResultTooLargeError: the answer or the approval
            brought along does not fit; nothing was written.
        DriftError: the configuration changed and nobody forced it.
        LockedError: another process holds or took it; nothing was done here.
        StoreError: it could not be read or claimed.
    """
    for load in range(LOADS):
        state = await _load(setup, checkpoint)
        if state is None:
            return None
        if _is_answered(state, checkpoint):
            return _stored_answer(state)
        if load == 0:
            await announce(setup.hooks, setup.start(resumed=True))
        drift = _admit(setup, checkpoint, state)
        answer = _fitting_answer(checkpoint, state)
        if checkpoint.approval is not None:
            _require_call(checkpoint.approval.tool_use_id, state)
        context = await _lost_context(setup, checkpoint, state)
        journal = await _open(setup, checkpoint)
        try:
            if journal.last_seq() == state.last_seq:
                taking = Taking(
                    setup=setup,
                    checkpoint=checkpoint,
                    state=state,
                    drift=drift,
                    journal=journal,
                    answer=answer,
                    context=context,
                )
                return await taking.take()
        except BaseException:
            await journal.close()
            raise
        await journal.close()
    raise LockedError(
        f'session "{checkpoint.resume_id}" is being written by another process; try again later'
    )


async def _load(setup: Setup, checkpoint: Checkpoint) -> RunState | None:
    try:
        return await setup.options.session_store.load(checkpoint.resume_id)
    except (NotFoundError, EmptyError):
        if checkpoint.create_if_missing:
            return None
        raise


def _is_answered(state: RunState, checkpoint: Checkpoint) -> bool:
    return state.status == "completed" and checkpoint.create_if_missing


def _stored_answer(state: RunState) -> RunResult:
    return RunResult(
        reason="completed",
        session_id=state.meta.run_id,
        text=answer_of(state.messages),
        stats=from_journal(state.counters),
    )


def _admit(setup: Setup, checkpoint: Checkpoint, state: RunState) -> Drift:
    session_id = checkpoint.resume_id
    if state.status == "completed" and not checkpoint.follow_up:
        raise RefusedError(f'session "{session_id}" has already completed', key=session_id)
    if state.meta.interactive != setup.interactive:
        theirs, ours = ("an", "one that is not") if state.meta.interactive else ("no", "one")
        raise RefusedError(
            f'session "{session_id}" belongs to {theirs} interactive run and cannot be resumed by '
            f"{ours}",
            key=session_id,
        )
    drift = fingerprint.compare(state.meta.fingerprint, setup.fingerprint)
    if drift.hard:
        current = setup.fingerprint.provider
        stored = for_terminal(state.meta.fingerprint.provider, QUOTED_LIMIT)
        raise RefusedError(
            f'session "{session_id}" was written with the provider {stored}, not with {current}; '
            "no session crosses providers: start a new one",
            key="llm.provider",
        )
    if drift.blocking and not checkpoint.force:
        raise DriftError(
            f'the configuration changed since session "{session_id}" was written '
            f"({'; '.join(drift.blocking)}); resume it with --force or start a new one",
            lines=drift.blocking,
        )
    return drift


async def _open(setup: Setup, checkpoint: Checkpoint) -> Journal:
    session_id = checkpoint.resume_id
    try:
        return await setup.options.session_store.open(session_id, take_over=checkpoint.take_over)
    except LockedError as exc:
        raise LockedError(
            f'session "{session_id}" is taken by another process; wait for its end'
        ) from exc


def _fitting_answer(checkpoint: Checkpoint, state: RunState) -> SuppliedAnswer | None:
    """Return the answer to write; one made for another tool than the one that waits is none."""
    answer = checkpoint.answer
    if answer is None:
        return None
    deferral = supply.check(state, answer.tool_use_id, answer.content)
    return answer if answer.tool_name in ("", deferral.tool_name) else None


def _require_call(approved: str, state: RunState) -> None:
    """Refuse an approval of a call nobody can be asked about; a deferred one only goes on waiting.

    Otherwise a decision about another conversation, or a spent one, would set this one going.
    """
    if approved not in {deferral.tool_use_id for deferral in state.open_deferrals}:
        supply.check_open(state, approved)


async def _lost_context(setup: Setup, checkpoint: Checkpoint, state: RunState) -> str:
    """Return the context that a crash right after the session's creation lost."""
    untouched = len(state.messages) == 1 and len(state.messages[0].content) == 1
    if not (setup.context and checkpoint.create_if_missing and untouched and not state.pending):
        return ""
    return await vet(setup.hooks, UserPrompt(text=setup.context, initial=True, part="context"))
