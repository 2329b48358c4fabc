"""Publishing turns, as a gateway does and as a worker does for an operator."""

from __future__ import annotations

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.bus.jetstream import Ack, JetStream


async def publish(js: JetStream, turn: Turn) -> Ack:
    """Put ``turn`` into the queue of its channel.

    Raises:
        ProtocolError, MessageTooLargeError: its message breaks a rule; nothing was sent.
        StreamError: the queue refused it, such as a full one (:data:`SUBJECT_FULL`).
        NoRespondersError: there is no queue.
        BusError: not acknowledged. Publish it again: the same event names the same turn.
    """
    return await js.publish(
        subjects.turn(turn.identity, turn.channel.name),
        codec.encode(turn.message),
        headers=turn.headers(),
    )
