"""Dead letters: turns that were given up, each a copy with the reason.

Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from fisk_ai.a2a import subjects
from fisk_ai.a2a.durable import headers
from fisk_ai.a2a.durable.headers import BINDING, CALLER, REASON, SESSION, THREAD, TRY
from fisk_ai.a2a.durable.turn import Sent
from fisk_ai.bus.jetstream import MESSAGE_ID, JetStream
from fisk_ai.bus.stored import Stored
from fisk_ai.bus.stream_reading import Reading, read
from fisk_ai.errors import ProtocolError
from fisk_ai.text.sanitise import for_terminal

REASON_LIMIT: Final = 500
"""Code points of a reason; it may repeat foreign text."""

_ENCODED_LIMIT: Final = 12 * REASON_LIMIT
"""Characters of a reason in its header: four bytes at most, each of three characters."""

_KEPT: Final = (MESSAGE_ID, BINDING, THREAD, SESSION, CALLER)


@dataclass(frozen=True, slots=True)
class DeadTurn:
    """One letter; ``seq`` is where it lies, ``tries`` how often the turn was begun."""

    seq: int
    channel: str
    event: str
    reason: str
    tries: int
    time: str
    sent: Sent


async def bury(
    js: JetStream, identity: str, channel: str, sent: Sent, *, reason: str, tries: int
) -> None:
    """Keep a copy of a turn that is given up; a second one of the same turn is not kept.

    Raises:
        BusError: it may not have been stored, so the turn must stay in its queue.
    """
    kept = {name: sent.headers[name] for name in _KEPT if name in sent.headers}
    said = headers.encoded(for_terminal(reason, REASON_LIMIT))
    await js.publish(
        subjects.dead(identity, channel),
        sent.body,
        headers={**kept, REASON: said, TRY: str(tries)},
    )


async def letters(
    js: JetStream, stream: str, identity: str, channel: str = "*"
) -> AsyncGenerator[DeadTurn]:
    """Yield the letters of an agent, oldest first; of a channel alone, where one is named.

    Raises:
        BusError: the stream cannot be read.
    """
    pattern = subjects.dead(identity, "any").removesuffix("any") + channel
    async with aclosing(read(js, Reading(stream, pattern))) as messages:
        async for message in messages:
            yield _letter(message)


def _letter(message: Stored) -> DeadTurn:
    found = message.headers
    return DeadTurn(
        seq=message.seq,
        channel=message.subject.rpartition(".")[2],
        event=found.get(MESSAGE_ID, "") or f"message-{message.seq}",
        reason=_text(found.get(REASON, "")),
        tries=_tries(message),
        time=message.time,
        sent=Sent(message.body, found),
    )


def _text(encoded: str) -> str:
    try:
        return headers.decoded(REASON, encoded, limit=_ENCODED_LIMIT)
    except ProtocolError:
        return ""


def _tries(message: Stored) -> int:
    try:
        return headers.number(message.headers, TRY)
    except ProtocolError:
        return 0
