"""A gateway on a bench: publishes durable turns and reads their reply sets as a real one has to.

Whoever writes a gateway runs its expectations against this one: a turn goes into the queue once
however often its event comes, a delivery is a doorbell, and a thread is read from the stream.
Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable import publishing
from fisk_ai.a2a.durable.binding import stream_of
from fisk_ai.a2a.durable.channels import SLACK, Channel
from fisk_ai.a2a.durable.provisioning import consumer_name, reply_place
from fisk_ai.a2a.durable.reading import ReadSet, Reply, replies
from fisk_ai.a2a.durable.turn import Turn, of_thread, request_of
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.lease import Lease
from fisk_ai.bus.pulling import Pull, open_pull

_Enough = Callable[[ReadSet], bool]

LEASE_S = 30.0
"""The lease of a doorbell."""


@dataclass(slots=True)
class ThreadRead:
    """What was read of one thread: where to go on, and its sets by request."""

    thread: str
    stream_seq: int = 0
    sets: dict[str, ReadSet] = field(default_factory=dict[str, ReadSet])
    replies: list[Reply] = field(default_factory=list[Reply])

    def of(self, turn: Turn) -> ReadSet:
        """Return the set of a turn, as far as it was read."""
        return self.sets.setdefault(turn.message.request, ReadSet())


class BenchGateway:
    """One gateway of a channel of ``identity``."""

    def __init__(self, js: JetStream, identity: str, channel: Channel = SLACK) -> None:
        self.js = js
        self.identity = identity
        self.channel = channel
        self._threads: dict[str, ThreadRead] = {}

    def turn(
        self,
        thread: tuple[str, ...],
        event: str,
        text: str = "Hi",
        *,
        caller: str = "ada/U1",
        context: str = "",
    ) -> Turn:
        """Return the turn of a mention."""
        header = self._header(thread, event)
        message = m.RequestPrompt(**header, prompt=text, context=context)
        return of_thread(
            self.identity, self.channel, thread, event=event, message=message, caller=caller
        )

    def answer(self, thread: tuple[str, ...], event: str, given: m.Answer) -> Turn:
        """Return the turn of a click that came late."""
        header = self._header(thread, event)
        token = self._hash(thread)
        message = m.RequestAnswer(**header, conversation_token=token, answer=given)
        return of_thread(self.identity, self.channel, thread, event=event, message=message)

    def resume(self, thread: tuple[str, ...], event: str) -> Turn:
        """Return a turn that lets the thread's session go on."""
        header = self._header(thread, event)
        message = m.RequestResume(**header, conversation_token=self._hash(thread))
        return of_thread(self.identity, self.channel, thread, event=event, message=message)

    def stop(self, turn: Turn, event: str) -> Turn:
        """Return the message that stops ``turn`` where it waits in the queue."""
        header = m.request_header(
            self._sender(), self.identity, request=turn.message.request, conversation=turn.session
        )
        return of_thread(
            self.identity, self.channel, turn.thread, event=event, message=m.Cancel(**header)
        )

    async def publish(self, *turns: Turn) -> None:
        """Put turns into the queue; raises as :func:`fisk_ai.a2a.durable.publishing.publish`."""
        for turn in turns:
            await publishing.publish(self.js, turn)

    def read(self, turn: Turn) -> ReadSet:
        """Return the set of ``turn``, as far as its thread was read."""
        return self._thread(turn.thread_hash).of(turn)

    def replies_of(self, turn: Turn) -> list[Reply]:
        """Return every message of a turn's set that was read, those before a restart included."""
        return [reply for reply in self.replies_in(turn) if reply.request == turn.message.request]

    def replies_in(self, turn: Turn) -> list[Reply]:
        """Return every message that was read of the thread of ``turn``."""
        return self._thread(turn.thread_hash).replies

    async def catch_up(self, thread_hash: str) -> None:
        """Read a thread until nothing is left; raises as reading does."""
        stream = await self._reply_stream()
        read = self._thread(thread_hash)
        async for reply in replies(
            self.js,
            stream,
            self.identity,
            self.channel.name,
            thread_hash,
            after=read.stream_seq,
        ):
            read.stream_seq = reply.stream_seq
            read.replies.append(reply)
            read.sets.setdefault(reply.request, ReadSet()).take(reply)

    async def ended(self, turn: Turn, *, within_s: float = 20.0) -> ReadSet:
        """Listen for doorbells until the set of ``turn`` is over, and return it.

        Raises:
            TimeoutError: it is not over in time.
        """
        return await self._until(turn, lambda found: found.terminal is not None, within_s)

    async def asked(self, turn: Turn, *, within_s: float = 20.0) -> m.AnyQuestion:
        """Listen until ``turn`` asks a person, and return the question; raises TimeoutError."""
        return (await self._until(turn, lambda found: bool(found.questions), within_s)).questions[
            -1
        ]

    async def begun(self, turn: Turn, *, within_s: float = 20.0) -> ReadSet:
        """Listen until the set of ``turn`` has begun; raises TimeoutError."""
        return await self._until(turn, lambda found: bool(found.messages), within_s)

    async def calls(self, turn: Turn, tool: str, *, within_s: float = 20.0) -> ReadSet:
        """Listen until ``turn`` has begun to call ``tool``; raises TimeoutError."""
        return await self._until(turn, lambda found: tool in _called(found), within_s)

    async def _until(self, turn: Turn, is_enough: _Enough, within_s: float) -> ReadSet:
        pull = await self._doorbells()
        try:
            async with asyncio.timeout(within_s):
                await self.catch_up(turn.thread_hash)
                while not is_enough(self.read(turn)):
                    await self._heed_doorbell(pull)
                    await self.catch_up(turn.thread_hash)
        finally:
            await pull.close()
        return self.read(turn)

    async def _heed_doorbell(self, pull: Pull) -> None:
        """Wait for one delivery, and acknowledge it: what it says is read from the stream."""
        await pull.ask(1, expires_s=0.5)
        delivery = await pull.next(1.0)
        if delivery is None:
            return
        async with Lease(self.js.connection, delivery, length_s=LEASE_S) as lease:
            await self.catch_up(delivery.message.subject.split(".")[5])
            await lease.ack()

    async def _doorbells(self) -> Pull:
        stream = await self._reply_stream()
        name = consumer_name(self.identity, self.channel.name)
        subject = self.js.subject(f"CONSUMER.MSG.NEXT.{stream}.{name}")
        return await open_pull(self.js.connection, subject)

    async def _reply_stream(self) -> str:
        subject = reply_place(self.identity, self.channel.name)
        return await stream_of(self.js, subject, key="expose.agent.slack")

    def _thread(self, thread_hash: str) -> ThreadRead:
        return self._threads.setdefault(thread_hash, ThreadRead(thread_hash))

    def _header(self, thread: tuple[str, ...], event: str) -> m.HeaderFields:
        return m.request_header(
            self._sender(),
            self.identity,
            request=request_of(event),
            conversation=self._hash(thread),
        )

    def _hash(self, thread: tuple[str, ...]) -> str:
        return self.channel.thread_of(self.channel.session(self.identity, thread))

    def _sender(self) -> m.Sender:
        return m.Sender(name=self.identity, instance=f"{self.channel.name}-gateway")


def _called(found: ReadSet) -> set[str]:
    events = (each.block for each in found.messages if isinstance(each, m.EventMessage))
    return {block.name for block in events if isinstance(block, m.ToolCallBlockEvent)}


def text_of(found: ReadSet) -> str:
    """Return the answer a set ended with."""
    assert isinstance(found.terminal, m.Result), found.terminal
    return found.terminal.text


def code_of(found: ReadSet) -> str:
    """Return the code a set ended with."""
    assert isinstance(found.terminal, m.ErrorTerminal), found.terminal
    return found.terminal.code
