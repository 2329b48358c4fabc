"""One open session in a stream: what fences it, and what an append that failed leaves behind.

Nothing is locked. Each record names the last one its writer knows of, and the server stores it only
behind that. A record that was not acknowledged may be stored all the same: the next append finds
out before it writes anything. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass

from fisk_ai import faults
from fisk_ai.bus.connection import Watch
from fisk_ai.bus.jetstream import (
    AGAIN_S,
    ATTEMPT_TIMEOUT_S,
    EXPECTED_FILTER,
    EXPECTED_SEQUENCE,
    FENCED,
    MESSAGE_ID,
    OPERATION_TIMEOUT_S,
    is_unanswered,
)
from fisk_ai.bus.stored import Stored
from fisk_ai.errors import (
    BusError,
    ExistsError,
    LockedError,
    MessageTooLargeError,
    StoreError,
    StreamError,
)
from fisk_ai.faults import Point
from fisk_ai.sessions import codec, stream_records
from fisk_ai.sessions.records import Payload, Record
from fisk_ai.sessions.sequence import check_append
from fisk_ai.sessions.stream_option import OPTION_KEY
from fisk_ai.sessions.stream_place import Place, seq_of
from fisk_ai.text.clock import rfc3339_now


@dataclass(frozen=True, slots=True)
class _Doubt:
    """An append that may have landed; a retry must carry the same bytes."""

    seq: int
    payload: Payload
    body: bytes


class StreamJournal:
    """The records of one session, behind the last one this handle knows of."""

    def __init__(self, place: Place, run_id: str, tail: Stored | None, watch: Watch) -> None:
        """Go on behind ``tail``, or begin; ``watch`` says meanwhile that the session is held."""
        self._place = place
        self._run_id = run_id
        self._watch = watch
        self._nonce = secrets.token_hex(16)
        self._last = seq_of(tail.subject) if tail else 0
        self._fence = tail.seq if tail else 0
        self._doubt: _Doubt | None = None
        self._is_open = True

    def last_seq(self) -> int:
        """Return the number of the last durable record."""
        return self._last

    async def append(self, seq: int, payload: Payload) -> None:
        """Store one record; see :class:`fisk_ai.sessions.store.Journal`."""
        self._check_open()
        if not check_append(self._last, seq):
            return
        key = codec.key_of(payload)
        self._doubt = self._doubt_of(seq, payload)
        faults.point(Point.JOURNAL_APPEND_BEFORE, key)
        try:
            async with asyncio.timeout(OPERATION_TIMEOUT_S):
                await self._store(self._doubt)
        except TimeoutError as exc:
            raise self._undurable(seq, "the stream did not decide in time") from exc
        except (BusError, MessageTooLargeError) as exc:
            raise self._undurable(seq, str(exc)) from exc
        faults.point(Point.JOURNAL_APPEND_SYNCED, key)
        self._doubt = None

    async def records(self) -> list[Record]:
        """Return every record, oldest first."""
        self._check_open()
        return await stream_records.records(self._place, self._run_id)

    async def check_held(self) -> None:
        """Return while nobody recorded behind this handle.

        Raises:
            LockedError: somebody did.
            StoreError: the stream cannot be asked.
        """
        self._check_open()
        tail = await stream_records.tail(self._place, self._run_id)
        if not self._is_ours(tail):
            raise self._locked()

    async def close(self) -> None:
        """Stop answering for the session; calling it twice is harmless."""
        self._is_open = False
        await self._watch.close()

    def _doubt_of(self, seq: int, payload: Payload) -> _Doubt:
        if self._doubt is not None and (self._doubt.seq, self._doubt.payload) == (seq, payload):
            return self._doubt
        body = codec.encode(codec.record_of(seq, payload, time=rfc3339_now()))
        return _Doubt(seq, payload, body)

    async def _store(self, doubt: _Doubt) -> None:
        """Publish until the server took the record or somebody else's is in its place."""
        seq, body = doubt.seq, doubt.body
        while True:
            try:
                ack = await self._place.js.publish(
                    self._place.record(self._run_id, seq),
                    body,
                    headers=self._fence_of(seq),
                    timeout_s=ATTEMPT_TIMEOUT_S,
                )
            except StreamError as exc:
                if exc.err_code not in FENCED:
                    raise
            except BusError as exc:
                if not is_unanswered(exc):
                    raise
                await asyncio.sleep(AGAIN_S)
                continue  # stored or not: the same bytes tell, which are stored once
            else:
                faults.point(Point.JOURNAL_APPEND_WRITTEN, codec.key_of(doubt.payload))
                self._advance(seq, ack.seq)
                return
            landed = await self._landed(seq)
            if landed is None:
                await asyncio.sleep(AGAIN_S)
                continue
            self._advance(seq, landed.seq)
            if landed.body == body:
                return
            # An earlier record, given up in doubt, holds this number after all.
            seq += 1
            body = codec.encode(codec.record_of(seq, doubt.payload, time=rfc3339_now()))

    def _fence_of(self, seq: int) -> dict[str, str]:
        return {
            MESSAGE_ID: f"{self._nonce}-{seq}",
            EXPECTED_SEQUENCE: str(self._fence),
            EXPECTED_FILTER: self._place.run(self._run_id),
        }

    async def _landed(self, seq: int) -> Stored | None:
        """Return our own earlier publish at ``seq``; ``None`` when nothing moved yet.

        Raises:
            LockedError, ExistsError: another writer's record is there.
            BusError: the stream cannot be asked.
        """
        js, stream = self._place.js, self._place.stream
        found = await js.newest(stream, self._place.record(self._run_id, seq))
        if found is not None and found.headers.get(MESSAGE_ID) == f"{self._nonce}-{seq}":
            return found
        tail = await js.newest(stream, self._place.run(self._run_id))
        if (tail.seq if tail else 0) == self._fence:
            return None
        if seq == 1:
            raise ExistsError(
                f"session {self._run_id} exists already; resume it or choose another id"
            )
        raise self._locked()

    def _advance(self, seq: int, fence: int) -> None:
        self._last = seq
        self._fence = fence

    def _is_ours(self, tail: Stored | None) -> bool:
        if tail is None:
            return False
        return tail.seq == self._fence or tail.headers.get(MESSAGE_ID, "").startswith(self._nonce)

    def _locked(self) -> LockedError:
        return LockedError(
            f"another process recorded in session {self._run_id}; nothing of it was overwritten"
            f" and this run ends here (see: nats stream subjects {self._place.stream}"
            f" --filter '{self._place.run(self._run_id)}')",
            key=self._run_id,
        )

    def _undurable(self, seq: int, reason: str) -> StoreError:
        return StoreError(
            f"record {seq} of session {self._run_id} could not be made durable in stream"
            f" {self._place.stream}: {reason}",
            key=OPTION_KEY,
        )

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreError(f"session {self._run_id} was closed already")
