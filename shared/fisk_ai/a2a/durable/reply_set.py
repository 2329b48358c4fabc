"""A reply set that is stored: no message of it is left half-way, and only what is kept is sent.

Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Literal

from fisk_ai.a2a import codec
from fisk_ai.a2a.blocks import without_input
from fisk_ai.a2a.durable.writer import ReplyWriter
from fisk_ai.a2a.messages import (
    AnyQuestion,
    EventBlock,
    EventMessage,
    RunRequest,
    StatusBlockEvent,
    TextBlockEvent,
    TextDeltaBlockEvent,
    ThinkingDeltaBlockEvent,
    ToolCallBlockEvent,
    WarningBlockEvent,
    reply_header,
)
from fisk_ai.a2a.reply_set import KEEPALIVE_S, ReplySet
from fisk_ai.errors import FiskError

HANDED_BACK = "handed_back"
"""The phase of a turn that its worker gave to the next one: a pause, and no ending."""

PassBy = Callable[[bytes], Awaitable[None]]
"""Sends one message to whoever listens."""

Level = Literal["status", "full"]
"""What of a run a channel is told: what it is at, or everything but fragments of text."""


def told(level: Level, block: EventBlock) -> EventBlock | None:
    """Return ``block`` as it is stored at ``level``; ``None`` when it is not."""
    if isinstance(block, TextDeltaBlockEvent | ThinkingDeltaBlockEvent):
        return None
    if level == "full" or isinstance(block, StatusBlockEvent | WarningBlockEvent):
        return block
    if isinstance(block, ToolCallBlockEvent):
        return without_input(block) or block
    return block if isinstance(block, TextBlockEvent) and block.final else None


class DurableSet(ReplySet):
    """Answers one turn through ``writer``."""

    def __init__(
        self,
        writer: ReplyWriter,
        request: RunRequest,
        identity: str,
        *,
        level: Level,
        pass_by: PassBy | None = None,
        keepalive_s: float = KEEPALIVE_S,
    ) -> None:
        """Tell of the run what ``level`` says; fragments go to ``pass_by`` and are stored nowhere.

        Without it there are none.
        """
        super().__init__(
            writer.publish,
            request,
            identity,
            stream=request.wants_stream(),
            deltas=pass_by is not None and request.wants_deltas(),
            keepalive_s=keepalive_s,
        )
        self._level: Level = level
        self._pass_by = pass_by

    async def event(self, block: EventBlock) -> None:
        """Store an event of this level; as for every set, its failure is no failure of the run."""
        kept = told(self._level, block)
        if kept is not None:
            await _to_the_end(super().event(kept))
        elif self.deltas and isinstance(block, TextDeltaBlockEvent | ThinkingDeltaBlockEvent):
            await self._fragment(block)

    async def _fragment(self, block: EventBlock) -> None:
        """Send a fragment outside of the numbers: whoever listens now sees it, and nobody else."""
        message = EventMessage(**reply_header(self.request, self.identity), block=block)
        if self._pass_by is not None:
            with contextlib.suppress(FiskError):
                await self._pass_by(codec.encode(message))

    async def hand_back(self) -> None:
        """Say that another worker goes on; whoever asked for events or not."""
        self._ended = True
        async with self._sending:
            self._stop()
            block = StatusBlockEvent(phase=HANDED_BACK)
            message = EventMessage(**reply_header(self.request, self.identity), block=block)
            await self._numbering.send(message)

    async def question(self, question: AnyQuestion) -> None:
        """Store a question; raises as for every set."""
        await _to_the_end(super().question(question))


async def _to_the_end(sending: Coroutine[object, object, None]) -> None:
    """Await ``sending``; a run that is stopped leaves it to come to its end.

    A message that was sent and not waited for may be stored: the next one has to know.
    """
    task = asyncio.ensure_future(sending)
    task.add_done_callback(_noticed)
    await asyncio.shield(task)


def _noticed(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
