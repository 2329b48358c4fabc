"""The one writer of a reply set in the stream.

Every message names the stream sequence it follows on its subject, so that of two writers one is
refused. A message that was not acknowledged may be stored all the same: the same bytes are sent
again until the broker says which, or our time is over. Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from fisk_ai.bus.jetstream import EXPECTED_SEQUENCE, FENCED, MESSAGE_ID, JetStream
from fisk_ai.errors import BusError, FencedError, MessageTooLargeError, StreamError

AGAIN_S: Final = 0.05
"""Between two attempts against a server that has not decided another message yet."""

ATTEMPT_TIMEOUT_S: Final = 5.0
"""Bound of one attempt: a leader election takes a few seconds."""

TOO_LARGE: Final = 10054
"""The stream takes no message of that size."""


class _Named(msgspec.Struct):
    id: str


class ReplyWriter:
    """Stores the messages of one set, one after another; used by one task at a time."""

    def __init__(
        self,
        js: JetStream,
        subject: str,
        stream: str,
        fence: int,
        common: Mapping[str, str],
        *,
        lost: asyncio.Event,
    ) -> None:
        """Follow the message at ``fence`` on ``subject``, 0 for none.

        ``common`` are headers of every message. Nothing is sent once ``lost`` is set; it is set
        here where another writer has the set.
        """
        self.headers = dict(common)
        self._js = js
        self._subject = subject
        self._stream = stream
        self._fence = fence
        self._lost = lost

    async def publish(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Store one message.

        Raises:
            MessageTooLargeError: it never left, or no stream could ever hold it.
            FencedError: another writer has the set, or our time is over; nothing more may follow.
        """
        message_id = msgspec.json.decode(body, type=_Named).id
        while not self._lost.is_set():
            fenced = {EXPECTED_SEQUENCE: str(self._fence), MESSAGE_ID: message_id}
            try:
                ack = await self._js.publish(
                    self._subject,
                    body,
                    headers={**self.headers, **headers, **fenced},
                    timeout_s=ATTEMPT_TIMEOUT_S,
                )
            except StreamError as exc:
                if exc.err_code == TOO_LARGE:
                    raise _too_large(body) from exc
                if exc.err_code in FENCED and await self._landed(message_id):
                    return
            except BusError:
                pass  # not decided, or the broker is away: the same bytes again
            else:
                self._fence = ack.seq
                return
            await asyncio.sleep(AGAIN_S)
        raise FencedError(f'"{self._subject}" is not ours to write to any more')

    async def _landed(self, message_id: str) -> bool:
        """Say whether our own earlier attempt is stored; ``False`` when nothing moved yet.

        Raises:
            FencedError: another writer's message is there.
        """
        try:
            newest = await self._js.newest(self._stream, self._subject)
        except BusError:
            return False
        if newest is not None and newest.headers.get(MESSAGE_ID) == message_id:
            self._fence = newest.seq
            return True
        if (newest.seq if newest else 0) == self._fence:
            return False
        self._lost.set()
        raise FencedError(f'another worker writes to "{self._subject}"')


def _too_large(body: bytes) -> MessageTooLargeError:
    return MessageTooLargeError(
        f"a reply of {len(body)} bytes is over the limit of its stream", room_bytes=len(body) // 2
    )
