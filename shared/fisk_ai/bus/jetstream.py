"""What is stored at the broker: publishes with an acknowledgement, and the API of streams.

Decided here: every call is one bounded request to the leader and either returns or raises; a
publish that was not acknowledged may have landed, and who sent it must find out. Reads never go to
a replica, which may lag behind: what is read here decides what may be written.
Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from fisk_ai.bus.connection import Connection
from fisk_ai.bus.options import API_PREFIX
from fisk_ai.bus.stored import Stored, StoredReply
from fisk_ai.bus.stream_info import StreamInfo, StreamReply
from fisk_ai.errors import BusError, BusTimeoutError, NoRespondersError, StreamError

OPERATION_TIMEOUT_S: Final = 15.0
"""Bound of one request where its caller names none; a leader election takes a few seconds."""

ATTEMPT_TIMEOUT_S: Final = 3.0
"""How long an answer is waited for before the same is asked again: a leader that dies takes the
request with it, and a broker that comes back knows its streams a moment later."""

AGAIN_S: Final = 0.05
"""Between two attempts."""

BIND_TIMEOUT_S: Final = 10.0
"""Bound of looking at a stream or bucket at the start of a process."""

EXPECTED_SEQUENCE: Final = "Nats-Expected-Last-Subject-Sequence"
"""The stream sequence that must be the newest of the subject, or of its filter, to be stored."""

EXPECTED_FILTER: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
"""The subjects whose newest message :data:`EXPECTED_SEQUENCE` is compared with."""

MESSAGE_ID: Final = "Nats-Msg-Id"

WRONG_SEQUENCE: Final = 10071
"""The fence: something else is the newest message."""

SEQUENCE_IN_FLIGHT: Final = 10164
"""The fence, too; or another proposal under the filter is not decided yet. Look, then try again."""

SUBJECT_FULL: Final = 10077
NO_MESSAGE: Final = 10037
NO_STREAM: Final = 10059
NO_CONSUMER: Final = 10014

FENCED: Final = (WRONG_SEQUENCE, SEQUENCE_IN_FLIGHT)

T = TypeVar("T")


class _Failure(msgspec.Struct):
    err_code: int = 0
    description: str = ""


class _Outcome(msgspec.Struct):
    error: _Failure | None = None


class Ack(msgspec.Struct, frozen=True):
    """A message that is stored; ``duplicate``: it was already, under the same message id."""

    stream: str
    seq: int
    duplicate: bool = False


class _Names(msgspec.Struct):
    streams: list[str] | None = None


class JetStream:
    """The streams of one account, over a connection that is borrowed and never closed here."""

    def __init__(self, connection: Connection, *, api_prefix: str = API_PREFIX) -> None:
        """``api_prefix`` is another one where a context names a domain or an import."""
        self.connection = connection
        self._prefix = api_prefix

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = OPERATION_TIMEOUT_S,
    ) -> Ack:
        """Store a message and return where.

        Raises:
            StreamError: the stream refused it; nothing was stored by this call.
            NoRespondersError: no stream takes ``subject``.
            MessageTooLargeError: over the broker's limit.
            BusTimeoutError, BusError: not acknowledged; it may have been stored.
        """
        reply = await self.connection.request(subject, body, timeout_s=timeout_s, headers=headers)
        return _decoded(reply.body, Ack, f'storing on "{subject}"')

    async def stream(
        self, name: str, *, subjects: str = "", offset: int = 0, timeout_s: float = BIND_TIMEOUT_S
    ) -> StreamInfo:
        """Describe a stream; with ``subjects`` also which of those it holds, from ``offset`` on.

        The broker answers with a part of the subjects at a time: ask again until their number is
        ``total``.

        Raises:
            StreamError: there is no such stream (:data:`NO_STREAM`).
            BusError: as :meth:`api`.
        """
        asked = {"subjects_filter": subjects, "offset": offset} if subjects else {}
        reply = await self.api(f"STREAM.INFO.{name}", asked, StreamReply, timeout_s=timeout_s)
        return reply.info()

    async def streams_of(self, subject: str, *, timeout_s: float = BIND_TIMEOUT_S) -> list[str]:
        """Name the streams that take ``subject``; raises as :meth:`api`."""
        found = await self.api("STREAM.NAMES", {"subject": subject}, _Names, timeout_s=timeout_s)
        return found.streams or []

    async def newest(
        self, stream: str, subject: str, *, timeout_s: float = OPERATION_TIMEOUT_S
    ) -> Stored | None:
        """Return the newest message on ``subject``, which may have wildcards; raises as `api`."""
        return await self._message(stream, {"last_by_subj": subject}, timeout_s)

    async def message(
        self, stream: str, seq: int, *, timeout_s: float = OPERATION_TIMEOUT_S
    ) -> Stored | None:
        """Return the message at ``seq``; raises as :meth:`api`."""
        return await self._message(stream, {"seq": seq}, timeout_s)

    async def next_after(
        self, stream: str, seq: int, subject: str, *, timeout_s: float = OPERATION_TIMEOUT_S
    ) -> Stored | None:
        """Return the first message on ``subject`` behind ``seq``; raises as :meth:`api`."""
        asked = {"seq": seq + 1, "next_by_subj": subject}
        return await self._message(stream, asked, timeout_s)

    async def remove(
        self, stream: str, seq: int, *, timeout_s: float = OPERATION_TIMEOUT_S
    ) -> None:
        """Remove the message at ``seq``; raises as :meth:`api`."""
        await self.api(f"STREAM.MSG.DELETE.{stream}", {"seq": seq}, _Outcome, timeout_s=timeout_s)

    async def purge(
        self, stream: str, subject: str, *, timeout_s: float = OPERATION_TIMEOUT_S
    ) -> None:
        """Remove every message on ``subject``; none there is fine. Raises as :meth:`api`."""
        asked = {"filter": subject}
        await self.api(f"STREAM.PURGE.{stream}", asked, _Outcome, timeout_s=timeout_s)

    async def api(
        self,
        operation: str,
        asked: Mapping[str, object],
        answer: type[T],
        *,
        timeout_s: float = OPERATION_TIMEOUT_S,
    ) -> T:
        """Ask the API and return its answer as ``answer``.

        Raises:
            StreamError: the broker refused, with its number.
            BusTimeoutError: no answer, or no leader, within ``timeout_s``.
            BusError: no JetStream here, or this user may not ask.
        """
        subject = self.subject(operation)
        body = msgspec.json.encode(asked) if asked else b""
        try:
            reply = await self.connection.request(subject, body, timeout_s=timeout_s)
        except NoRespondersError as exc:
            raise BusError(
                f'nobody answers "{subject}": JetStream is not enabled for this account'
            ) from exc
        return _decoded(reply.body, answer, operation)

    async def _repeated(
        self, operation: str, asked: Mapping[str, object], answer: type[T], *, timeout_s: float
    ) -> T:
        """Ask what changes nothing, and again while nobody answers; raises as :meth:`api`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        while True:
            left_s = end - loop.time()
            try:
                attempt_s = min(ATTEMPT_TIMEOUT_S, left_s)
                return await self.api(operation, asked, answer, timeout_s=attempt_s)
            except BusError as exc:
                if end - loop.time() <= AGAIN_S or not is_unanswered(exc):
                    raise
            await asyncio.sleep(AGAIN_S)

    def subject(self, operation: str) -> str:
        """Return where the API takes ``operation``."""
        return f"{self._prefix}.{operation}"

    async def _message(
        self, stream: str, asked: Mapping[str, object], timeout_s: float
    ) -> Stored | None:
        try:
            reply = await self._repeated(
                f"STREAM.MSG.GET.{stream}", asked, StoredReply, timeout_s=timeout_s
            )
        except StreamError as exc:
            if exc.err_code == NO_MESSAGE:
                return None
            raise
        return reply.stored()


def is_unanswered(exc: BusError) -> bool:
    """Say whether nobody answered, for now: a leader died, or the broker only just came back."""
    return isinstance(exc, BusTimeoutError | NoRespondersError) or isinstance(
        exc.__cause__, NoRespondersError
    )


def _decoded(body: bytes, answer: type[T], what: str) -> T:
    try:
        error = msgspec.json.decode(body, type=_Outcome).error
        if error is None:
            return msgspec.json.decode(body, type=answer)
    except msgspec.MsgspecError as exc:
        raise BusError(f"{what}: the broker's answer cannot be read: {exc}") from exc
    raise StreamError(f"{what}: {error.description}", err_code=error.err_code)
