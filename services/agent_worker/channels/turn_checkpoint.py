"""What a durable turn does to its session: decided by the session alone, since a turn may repeat.

Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

from dataclasses import replace

from agent_worker.channels.work import held_approval, supplied_answer
from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.a2a.messages import Answer, RequestAnswer, RequestPrompt, RunRequest
from fisk_ai.agent.options import Checkpoint
from fisk_ai.errors import (
    AlreadyAnsweredError,
    CorruptError,
    EmptyError,
    NoMetaError,
    NotFoundError,
    StoreError,
    VersionError,
)
from fisk_ai.sessions import supply
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store

_LEFT_TO_THE_RUN = (NotFoundError, EmptyError, NoMetaError, CorruptError, VersionError)


async def load(store: Store, session: str) -> RunState | None:
    """Return a session as it stands; ``None`` for one that the run itself begins or refuses.

    Raises:
        StoreError: it cannot be read now.
    """
    try:
        return await store.load(session)
    except _LEFT_TO_THE_RUN:
        return None


def checkpoint_of(
    turn: Turn, request: RunRequest, state: RunState | None, *, begun: bool
) -> Checkpoint:
    """Return how ``request`` is run; ``begun`` says that a worker was at this very turn before."""
    plain = Checkpoint(resume_id=turn.session, force=True, request=request.request, take_over=begun)
    if isinstance(request, RequestPrompt):
        taken = state is None or request.request in state.requests
        return replace(plain, create_if_missing=taken, follow_up=not taken)
    if state is None:
        return plain
    if isinstance(request, RequestAnswer):
        if not _is_decided(state, request.answer):
            return _answering(plain, request.answer)
        begun = True
    # What this turn brought to its end is told from the session; nothing runs again.
    return replace(plain, create_if_missing=begun and state.status == "completed")


def _is_decided(state: RunState, answer: Answer) -> bool:
    """Say whether the call has its answer or approval, so that this one was used or is too late."""
    try:
        if answer.kind == "approve":
            supply.check_open(state, answer.tool_use_id)
            return answer.tool_use_id in state.one_shot_approvals
        supply.check(state, answer.tool_use_id, "")
    except AlreadyAnsweredError:
        return True
    except StoreError:
        return False  # the run says what is wrong with it
    return False


def _answering(plain: Checkpoint, answer: Answer) -> Checkpoint:
    return replace(plain, approval=held_approval(answer), answer=supplied_answer(answer))
