"""A caller that notes what a reply set tells it, and answers questions as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from fisk_ai.a2a.client import Given
from fisk_ai.a2a.messages import Ack, AnyQuestion, EventBlock, ToolCallBlockEvent

AskPerson = Callable[[AnyQuestion], Awaitable[Given]]


async def nobody(question: AnyQuestion) -> Given:
    """Answer that no person is there."""
    return None


@dataclass(slots=True, kw_only=True)
class RecordingCaller:
    """Implements the handlers of a client; the events turn set when their first kind came."""

    person: AskPerson = nobody
    acks: list[Ack] = field(default_factory=list[Ack])
    blocks: list[EventBlock] = field(default_factory=list[EventBlock])
    questions: list[AnyQuestion] = field(default_factory=list[AnyQuestion])
    gaps: list[int] = field(default_factory=list[int])
    acked: asyncio.Event = field(default_factory=asyncio.Event)
    told: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def token(self) -> str:
        """The token of the conversation."""
        return self.acks[0].conversation_token

    async def on_ack(self, ack: Ack) -> None:
        """Note it."""
        self.acks.append(ack)
        self.acked.set()

    async def on_event(self, block: EventBlock) -> None:
        """Note it."""
        self.blocks.append(block)
        self.told.set()

    async def on_question(self, question: AnyQuestion) -> Given:
        """Note it and ask the person."""
        self.questions.append(question)
        self.asked.set()
        return await self.person(question)

    async def on_gap(self, missed: int) -> None:
        """Note it."""
        self.gaps.append(missed)


@dataclass(slots=True, kw_only=True)
class GaplessCaller(RecordingCaller):
    """Notes when a tool call begins, and fails its test where anything was missed."""

    calling: asyncio.Event = field(default_factory=asyncio.Event)

    async def on_event(self, block: EventBlock) -> None:
        """Note it."""
        await RecordingCaller.on_event(self, block)
        if isinstance(block, ToolCallBlockEvent):
            self.calling.set()

    async def on_gap(self, missed: int) -> None:
        """Fail; raises AssertionError."""
        raise AssertionError(missed)
