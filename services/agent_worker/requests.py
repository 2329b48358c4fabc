"""Reading what comes to a subject of an agent; what cannot be read is refused, and told how."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import AnyMessage, protocol_of
from fisk_ai.bus.messages import Inbound
from fisk_ai.bus.pace import Pace
from fisk_ai.errors import ProtocolError

M = TypeVar("M", bound=AnyMessage)

_log = logging.getLogger("agent_worker.requests")
_unanswerable = Pace()


async def read(
    inbound: Inbound, what: str, words: Callable[[ProtocolError], str] = str
) -> AnyMessage | None:
    """Return the message of a request, or refuse it as invalid and return ``None``.

    ``words`` says how a refusal is worded. A request without a reply subject is dropped unread:
    its sender could not be told what became of it.
    """
    if not inbound.reply:
        if count := _unanswerable.permits(inbound.subject):
            _log.info(
                "dropped %d messages on %s, %s last: no reply subject is named",
                count,
                inbound.subject,
                what,
            )
        return None
    try:
        return codec.decode(inbound.body, what)
    except ProtocolError as exc:
        await inbound.refuse("400", words(exc))
        return None


async def read_only(
    inbound: Inbound,
    kind: type[M],
    protocol: str,
    words: Callable[[ProtocolError], str] = str,
) -> M | None:
    """Return the message of a request where nothing but ``kind`` is taken; else as :func:`read`."""
    message = await read(inbound, "the request", words)
    if message is None or isinstance(message, kind):
        return message
    got = protocol_of(message)
    await inbound.refuse("400", f'unexpected message protocol: got "{got}", want "{protocol}"')
    return None
