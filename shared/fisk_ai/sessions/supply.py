"""Answers and approvals that arrive from outside a run, and when they are too late.

What is refused is refused before the session is taken. Each one is a single record and no claim: a
claim would say that somebody is at work in the batch. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Callable

from fisk_ai.errors import (
    AlreadyAnsweredError,
    LockedError,
    NotDeferredError,
    ResultTooLargeError,
)
from fisk_ai.llm.model import ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.records import CallApproval, Deferred, ToolResult
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store
from fisk_ai.text.sanitise import clean_surrogates, quoted

RESULT_LIMIT_BYTES = 262_144
"""Largest answer that is stored: a model reads all of it with every later request."""

LOADS = 3
"""How often a session is read before it is left to whoever keeps writing to it."""


def check(state: RunState, tool_use_id: str, content: str) -> Deferred:
    """Return the deferral that ``content`` may answer.

    The committed conversation comes first: an answer commits its turn, and whoever answers twice
    must learn that the first one arrived.

    Raises:
        ResultTooLargeError: ``content`` is over :data:`RESULT_LIMIT_BYTES`.
        AlreadyAnsweredError: the call has its answer.
        NotDeferredError: nothing waits for an answer under that id.
    """
    _require_fit(tool_use_id, content)
    return _deferral_of(state, tool_use_id)


def check_open(state: RunState, tool_use_id: str) -> ToolUseBlock:
    """Return the call under ``tool_use_id`` that has no result and is nobody's to answer yet.

    Raises:
        AlreadyAnsweredError: the call has its result.
        NotDeferredError: no such call is open, or it was deferred and takes an answer.
    """
    _require_uncommitted(state, tool_use_id)
    pending = state.pending
    if pending is not None and tool_use_id in pending.answered:
        raise _answered(tool_use_id)
    if pending is not None and tool_use_id in pending.deferred:
        raise NotDeferredError(
            f"call {quoted(tool_use_id)} has begun and waits for its answer; nothing is left to "
            "decide about it",
            key=tool_use_id,
        )
    content = pending.assistant.message.content if pending is not None else ()
    for block in content:
        if isinstance(block, ToolUseBlock) and block.id == tool_use_id:
            return block
    raise NotDeferredError(
        f"call {quoted(tool_use_id)} is not waiting for a decision; the session is {state.status}",
        key=tool_use_id,
    )


async def supply(
    store: Store, run_id: str, tool_use_id: str, content: str, *, is_error: bool = False
) -> None:
    """Record ``content`` as the answer of a deferred call; the next resume goes on from it.

    Raises:
        NotFoundError, InvalidIdError: there is no such session.
        ResultTooLargeError, AlreadyAnsweredError, NotDeferredError: as :func:`check`.
        LockedError: a run holds the session; nothing was written.
        StoreError: it could not be read or written.
    """
    _require_fit(tool_use_id, content)
    await _record(
        store,
        run_id,
        _result(tool_use_id, content, is_error=is_error),
        admit=lambda state: _deferral_of(state, tool_use_id),
    )


async def approve(store: Store, run_id: str, approval: CallApproval) -> None:
    """Record that one open call may run, once; the gate of the next resume spends it.

    Raises:
        AlreadyAnsweredError, NotDeferredError: as :func:`check_open`.
        NotFoundError, InvalidIdError, LockedError, StoreError: as :func:`supply`.
    """
    await _record(
        store, run_id, approval, admit=lambda state: check_open(state, approval.tool_use_id)
    )


async def decline(
    store: Store, run_id: str, tool_use_id: str, content: str, *, is_error: bool = False
) -> None:
    """Record ``content`` as what the model reads of an open call that will not run.

    Raises:
        AlreadyAnsweredError, NotDeferredError: as :func:`check_open`.
        ResultTooLargeError, NotFoundError, InvalidIdError, LockedError, StoreError: as
            :func:`supply`.
    """
    _require_fit(tool_use_id, content)
    await _record(
        store,
        run_id,
        _result(tool_use_id, content, is_error=is_error),
        admit=lambda state: check_open(state, tool_use_id),
    )


async def _record(
    store: Store,
    run_id: str,
    payload: ToolResult | CallApproval,
    *,
    admit: Callable[[RunState], object],
) -> None:
    for _ in range(LOADS):
        state = await store.load(run_id)
        admit(state)
        journal = await store.open(run_id)
        try:
            if journal.last_seq() == state.last_seq:
                await journal.append(state.last_seq + 1, payload)
                return
        finally:
            await journal.close()
    raise LockedError(
        f"session {run_id} is being written by another process; try again later", key=run_id
    )


def _result(tool_use_id: str, content: str, *, is_error: bool) -> ToolResult:
    """Return a result that names neither a kind nor a dispatch: no tool of this run made it."""
    clean = clean_surrogates(content)
    block = ToolResultBlock(tool_use_id, clean, is_error=is_error)
    return ToolResult(tool_use_id=tool_use_id, result=block)


def _require_fit(tool_use_id: str, content: str) -> None:
    if not tool_use_id:
        raise NotDeferredError("an answer needs the id of the call it is for", key="tool_use_id")
    size_bytes = len(clean_surrogates(content).encode())
    if size_bytes > RESULT_LIMIT_BYTES:
        raise ResultTooLargeError(
            f"the answer of call {quoted(tool_use_id)} has {size_bytes} bytes, at most "
            f"{RESULT_LIMIT_BYTES} are stored; shorten it or name a file in it",
            key=tool_use_id,
        )


def _deferral_of(state: RunState, tool_use_id: str) -> Deferred:
    _require_uncommitted(state, tool_use_id)
    pending = state.pending
    deferral = pending.deferred.get(tool_use_id) if pending is not None else None
    if pending is None or deferral is None:
        raise NotDeferredError(
            f"call {quoted(tool_use_id)} is not waiting for an answer; the session is "
            f"{state.status}",
            key=tool_use_id,
        )
    if tool_use_id in pending.answered:
        raise _answered(tool_use_id)
    return deferral


def _require_uncommitted(state: RunState, tool_use_id: str) -> None:
    for message in state.messages:
        for block in message.content:
            if isinstance(block, ToolResultBlock) and block.tool_use_id == tool_use_id:
                raise _answered(tool_use_id)


def _answered(tool_use_id: str) -> AlreadyAnsweredError:
    return AlreadyAnsweredError(
        f"call {quoted(tool_use_id)} has its answer already; the first one counts",
        key=tool_use_id,
    )
