"""Stored conversations for callers: before a turn's own events, and on a ``read`` alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from agent_worker.channels.terminals import terminal_of
from fisk_ai.a2a.blocks import usage_counts
from fisk_ai.a2a.codes import Ending
from fisk_ai.a2a.messages import RequestRead, Result, StatusBlockEvent, Terminal, reply_header
from fisk_ai.a2a.recorded import times_of
from fisk_ai.a2a.replay import replay
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.errors import BusError, NotFoundError, ProtocolError, StoreError
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Record
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store

_log = logging.getLogger("agent_worker.prompts")

READS = 4
"""Reads served at once: each folds a journal, and intake must stay responsive."""

_UNREADABLE = Ending("failed", "error", "reading the stored conversation failed")


@dataclass(frozen=True, slots=True)
class Stored:
    """A conversation as it is stored, and as it folds."""

    records: Sequence[Record]
    state: RunState


async def load(store: Store, session: str) -> Stored:
    """Read a session without taking it.

    Raises:
        StoreError: it is not there, or cannot be read.
    """
    records = await store.records(session)
    return Stored(records, await asyncio.to_thread(fold, records))


async def send_replay(reply_set: ReplySet, stored: Stored, limit: int) -> None:
    """Send up to ``limit`` blocks of ``stored`` between two markers; nothing if there are none."""
    state = stored.state
    times = times_of(stored.records)
    history = await asyncio.to_thread(replay, state.messages, state.pending, limit, times)
    if not history.blocks:
        return
    await reply_set.event(StatusBlockEvent(phase="replay_start"))
    for block in history.blocks:
        await reply_set.event(block)
    await reply_set.event(
        StatusBlockEvent(
            phase="replay_end",
            count=history.count,
            truncated=history.truncated,
            usage=usage_counts(state.counters.usage),
        )
    )


class Reads:
    """Serves ``read`` requests, a few at once, whatever else runs."""

    def __init__(self, store: Store, max_tokens: int) -> None:
        """``max_tokens`` is the configured bound of a conversation, told with each ack."""
        self._store = store
        self._max_tokens = max_tokens
        self._running = 0

    async def serve(self, reply_set: ReplySet, request: RequestRead, session: str) -> None:
        """Answer one read to its end, or refuse it when too many are served."""
        try:
            if self._running >= READS:
                await _refuse(reply_set)
                return
            self._running += 1
            try:
                await self._read(reply_set, request, session)
            finally:
                self._running -= 1
        except (BusError, ProtocolError) as exc:
            _log.warning("a read could not be answered: %s", exc)
        finally:
            reply_set.abandon()

    async def _read(self, reply_set: ReplySet, request: RequestRead, session: str) -> None:
        token = request.conversation_token
        await reply_set.ack(accepted=True, conversation_token=token, max_tokens=self._max_tokens)
        terminal = terminal_of(reply_set, _UNREADABLE)
        try:
            terminal = await self._told(reply_set, request, session)
        finally:
            await reply_set.finish(terminal)  # also when the reading met a bug

    async def _told(self, reply_set: ReplySet, request: RequestRead, session: str) -> Terminal:
        try:
            stored = await load(self._store, session)
        except NotFoundError:
            text = "no conversation of that token is stored here"
            return terminal_of(reply_set, Ending("unknown_conversation", "error", text))
        except StoreError as exc:
            _log.warning("session %s could not be read: %s", session, exc)
            return terminal_of(reply_set, _UNREADABLE)
        await send_replay(reply_set, stored, request.replay)
        return Result(
            **reply_header(request, reply_set.identity),
            stop_reason="end_turn",
            usage=usage_counts(stored.state.counters.usage),
        )


async def _refuse(reply_set: ReplySet) -> None:
    text = f"this worker is serving its maximum of {READS} reads; try again"
    await reply_set.ack(accepted=False, reason=text)
    await reply_set.finish(terminal_of(reply_set, Ending("capacity", "error", text)))
