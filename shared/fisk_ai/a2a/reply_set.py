"""The numbered answers to one task: an ack, then events and questions, then one terminal.

A number is used up only by a message that went out, so a reader sees a gap exactly where a
message was lost on the way. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import asyncio
import logging

from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a.blocks import trimmed, without_input
from fisk_ai.a2a.last_words import fitted, forms
from fisk_ai.a2a.messages import (
    FINAL_HEADER,
    Ack,
    AnyQuestion,
    AnyRequest,
    EventBlock,
    EventMessage,
    StatusBlockEvent,
    Terminal,
    protocol_of,
    reply_header,
)
from fisk_ai.a2a.numbering import Numbering, Publish
from fisk_ai.errors import FiskError, MessageTooLargeError, ProtocolError

_log = logging.getLogger("fisk_ai.a2a")

KEEPALIVE_S = 15.0
"""Silence after which a task says that it is running."""


class ReplySet:
    """Answers ``request`` as ``identity``; ``publish`` sends one body with its headers.

    One writer at a time is the rule, and the keepalive keeps it too: sends never overlap.
    """

    def __init__(
        self,
        publish: Publish,
        request: AnyRequest,
        identity: str,
        *,
        stream: bool,
        deltas: bool = False,
        keepalive_s: float = KEEPALIVE_S,
        sequence: int = 0,
    ) -> None:
        """Begin behind the message ``sequence``, which is none unless another writer began."""
        self.request = request
        self.identity = identity
        self.stream = stream
        self.deltas = stream and deltas
        self._numbering = Numbering(publish, sequence)
        self._keepalive_s = keepalive_s
        self._sending = asyncio.Lock()
        self._ended = False
        self._keepalive: asyncio.Task[None] | None = None

    async def ack(
        self,
        accepted: bool,  # noqa: FBT001 - the word of the protocol
        reason: str = "",
        conversation_token: str = "",
        max_tokens: int = 0,
    ) -> None:
        """Send the first message, and from then on keep an accepted set from falling silent.

        Raises:
            BusError, ProtocolError: it did not go out; nothing else may follow.
        """
        least = Ack(
            **reply_header(self.request, self.identity),
            accepted=accepted,
            conversation_token=conversation_token,
        )
        whole = structs.replace(least, reason=trimmed(reason)[0], max_tokens=max_tokens)
        async with self._sending:
            await self._numbering.send(whole if _is_sound(whole) else least)
        if accepted and self.stream:
            self._keepalive = asyncio.create_task(self._keep_alive(), name="keep a set alive")

    async def event(self, block: EventBlock) -> None:
        """Send an event, if the caller asked for any.

        A call whose arguments do not fit one message is told without them. What cannot be sent at
        all is dropped with a log line and its number is used again: an event is never a reason to
        fail a run.
        """
        if not self.stream:
            return
        async with self._sending:
            await self._try_event(block)

    async def question(self, question: AnyQuestion) -> None:
        """Send a question, whatever the caller said about events.

        Raises:
            BusError, ProtocolError: it did not go out; nobody will answer it.
        """
        async with self._sending:
            if self._ended:
                raise FiskError("the reply set is over, so nobody could be asked")
            await self._numbering.send(question)

    async def finish(self, terminal: Terminal) -> bool:
        """Send the terminal, cut to fit, and end the set; ``False`` when it was over already.

        What breaks a rule is left out: some terminal goes out while the broker is there.

        Raises:
            BusError, ProtocolError: the terminal did not go out; the set is over all the same.
        """
        if self._ended:
            return False
        self._ended = True
        async with self._sending:
            self._stop()
            await self._send_last(terminal)
        return True

    async def _send_last(self, terminal: Terminal) -> None:
        left = list(forms(terminal, reply_header(self.request, self.identity)))
        room_bytes, refusal = codec.MESSAGE_LIMIT, None
        while left:
            form = fitted(left[0], sequence=self._numbering.sequence + 1, room_bytes=room_bytes)
            if form is None:
                del left[0]
                continue
            try:
                await self._numbering.send(form, {FINAL_HEADER: "true"})
            except MessageTooLargeError as exc:
                refusal = exc
                room_bytes = min(exc.room_bytes, room_bytes - 1)
                continue
            return
        if refusal is not None:
            raise refusal

    def abandon(self) -> None:
        """End the set without a terminal: its ack did not go out."""
        self._ended = True
        self._stop()

    def _stop(self) -> None:
        if self._keepalive is not None:
            self._keepalive.cancel()

    async def _keep_alive(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._numbering.sent_at + self._keepalive_s - loop.time())
            async with self._sending:
                if loop.time() - self._numbering.sent_at < self._keepalive_s:
                    continue
                if not await self._try_event(StatusBlockEvent(phase="running")):
                    return

    async def _try_event(self, block: EventBlock) -> bool:
        if self._ended:
            return False
        message = EventMessage(**reply_header(self.request, self.identity), block=block)
        try:
            await self._numbering.send(message)
        except FiskError as exc:
            smaller = without_input(block) if isinstance(exc, MessageTooLargeError) else None
            if smaller is not None:
                return await self._try_event(smaller)
            _log.warning("dropped %s: %s", protocol_of(message), exc)
            return False
        return True


def _is_sound(ack: Ack) -> bool:
    """Say whether a receiver takes it; one that breaks a rule must not keep a task from running."""
    try:
        codec.encode(ack)
    except ProtocolError as exc:
        _log.error("an ack breaks a rule and is sent with less: %s", exc)
        return False
    return True
