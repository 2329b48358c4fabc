"""Reading reply sets from the stream: in its order, without a gap, and past every restart.

A delivery of a consumer is a doorbell, not the message: whoever hears it reads the thread from
where it stopped until nothing is left. Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Literal

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.durable import headers
from fisk_ai.a2a.messages import Ack, AnyMessage, AnyQuestion, ErrorTerminal, EventMessage, Result
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.stored import Stored
from fisk_ai.errors import ProtocolError, ProtocolMismatchError

Step = Literal["begun", "continued", "ended", "ignored"]
"""What a reply did to its set."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One message of a set; ``stream_seq`` is where to go on behind it."""

    request: str
    stream_seq: int
    message: AnyMessage
    stored: Stored

    @property
    def is_final(self) -> bool:
        """Whether it ends its set."""
        return headers.is_final(self.stored)


async def replies(
    js: JetStream, stream: str, identity: str, channel: str, thread: str, *, after: int = 0
) -> AsyncGenerator[Reply]:
    """Yield what the sets of a thread hold behind stream sequence ``after``, until nothing is left.

    Raises:
        ProtocolError: a message is no reply; its text names where it lies.
        BusError: the stream cannot be read.
    """
    subject = subjects.replies_of_thread(identity, channel, thread)
    while (stored := await js.next_after(stream, after, subject)) is not None:
        after = stored.seq
        yield _reply_of(stored)


def _reply_of(stored: Stored) -> Reply:
    try:
        message = codec.decode(stored.body, "the reply")
    except ProtocolError as exc:
        raise ProtocolError(f"message {stored.seq} of the reply stream: {exc}") from exc
    request = stored.subject.rpartition(".")[2]
    if message.request != request:
        raise ProtocolMismatchError(
            f"message {stored.seq} of the reply stream lies on the subject of another request"
        )
    return Reply(request, stored.seq, message, stored)


@dataclass(slots=True)
class ReadSet:
    """One reply set as it has been read so far.

    ``messages`` are those of its newest beginning; ``restarts`` counts the beginnings before it,
    and ``missed`` the messages that the stream held no more.
    """

    messages: list[AnyMessage] = field(default_factory=list[AnyMessage])
    terminal: Result | ErrorTerminal | None = None
    restarts: int = 0
    missed: int = 0
    last: int = 0

    @property
    def questions(self) -> list[AnyQuestion]:
        """What it asked a person."""
        return [message for message in self.messages if isinstance(message, AnyQuestion)]

    def take(self, reply: Reply) -> Step:
        """Apply the next reply of the stream.

        Raises:
            ProtocolMismatchError: it has no place in a set.
        """
        message = reply.message
        if self.terminal is not None:
            return "ignored"
        if isinstance(message, Ack) and message.sequence == 1:
            self.restarts += bool(self.messages)
            self.messages, self.missed, self.last = [message], 0, 1
            return "begun"
        if not isinstance(message, EventMessage | AnyQuestion | Result | ErrorTerminal):
            raise ProtocolMismatchError(f"message {reply.stream_seq} has no place in a reply set")
        self.missed += max(message.sequence - self.last - 1, 0)
        self.last = message.sequence
        self.messages.append(message)
        if isinstance(message, Result | ErrorTerminal):
            self.terminal = message
            return "ended"
        return "continued"
