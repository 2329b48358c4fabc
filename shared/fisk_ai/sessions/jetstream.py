"""Sessions in a stream: for workers on several machines.

Any worker of an agent can go on with what another one began. The connection is borrowed and never
closed here. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.stored import Stored
from fisk_ai.errors import (
    BusError,
    ExistsError,
    InvalidCursorError,
    InvalidIdError,
    InvalidLimitError,
    LockedError,
    SetupError,
    StoreError,
    VersionError,
)
from fisk_ai.sessions import stream_place, stream_records
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.listing import matches
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.records import (
    FORMAT_VERSION,
    Claim,
    Meta,
    Record,
    Terminal,
    unsupported,
)
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Filter, RunInfo, Standing, StoreInfo
from fisk_ai.sessions.stream_journal import StreamJournal
from fisk_ai.sessions.stream_option import OPTION_KEY
from fisk_ai.sessions.stream_place import Place
from fisk_ai.text.clock import rfc3339_ns
from fisk_ai.text.ids import valid_session_id

T = TypeVar("T")

ROWS_AT_ONCE: Final = 64
"""Rows of a listing that are read at the same time."""


class StreamStore:
    """Keeps each record as one message of a stream."""

    def __init__(
        self, js: JetStream, stream: str, presence: Presence, *, read_only: bool = False
    ) -> None:
        """Use ``stream``, which :meth:`bind` looks at before anything else is done.

        ``read_only`` is for who records nothing, and may have no right to.
        """
        self._js = js
        self._stream = stream
        self._presence = presence
        self._read_only = read_only
        self._bound: Place | None = None

    def info(self) -> StoreInfo:
        """Name the backend and the stream."""
        return StoreInfo("jetstream", self._stream)

    async def bind(self) -> None:
        """Check the stream; see :class:`fisk_ai.sessions.store.Store`."""
        proves = not self._read_only and self._bound is None  # once is enough
        self._bound = await stream_place.bind(self._js, self._stream, writes=proves)

    async def create(self, run_id: str, meta: Meta) -> StreamJournal:
        """Open a new session; see :class:`fisk_ai.sessions.store.Store`."""
        place = self._place(run_id)
        if meta.version not in (0, FORMAT_VERSION):
            raise VersionError(unsupported(meta.version))
        if await stream_records.tail(place, run_id) is not None:
            raise ExistsError(f"session {run_id} exists already; resume it or choose another id")
        journal = await self._handle(place, run_id, None)
        try:
            await journal.append(1, replace(meta, version=FORMAT_VERSION, run_id=run_id))
        except BaseException:
            await journal.close()
            raise
        return journal

    async def open(self, run_id: str, *, take_over: bool = False) -> StreamJournal:
        """Open a session for writing, unless its holder can be reached."""
        place = self._place(run_id)
        tail = await self._tail(place, run_id)
        await self._require_free(place, run_id, tail, take_over=take_over)
        return await self._handle(place, run_id, await self._tail(place, run_id))

    async def load(self, run_id: str) -> RunState:
        """Fold a session without taking it."""
        records = await stream_records.records(self._place(run_id), run_id)
        try:
            return fold(records)
        except StoreError as exc:
            raise type(exc)(f"session {run_id}: {exc}") from exc

    async def held_by(self, run_id: str) -> str:
        """Name who holds a session for writing: whoever claimed it last."""
        place = self._place(run_id)
        with stream_records.reading(place):
            answer = await self._presence.look(run_id)
        if answer == "nobody":
            return ""
        records = await stream_records.records(place, run_id)
        claims = (r.payload.by for r in reversed(records) if isinstance(r.payload, Claim))
        return next(claims, "") or "a worker"

    async def standing(self, run_id: str) -> Standing:
        """Say how far a session is; a holder that does not answer is none here."""
        place = self._place(run_id)
        last_seq = await stream_records.last_step(place, run_id)
        with stream_records.reading(place):
            answer = await self._presence.look(run_id)
        return Standing(held=answer == "held", last_seq=last_seq)

    async def records(self, run_id: str) -> builtins.list[Record]:
        """Return a session's records without taking it."""
        return await stream_records.records(self._place(run_id), run_id)

    async def list(self, criteria: Filter) -> builtins.list[RunInfo]:
        """Return all matching sessions, oldest first."""
        place = self._bound_place()
        found = [
            (run_id, meta)
            async for run_id, meta in stream_records.metas(place)
            if matches(criteria, run_id, meta.agent)
        ]
        rows = await _rows(found, lambda one: stream_records.row(place, *one))
        return sorted(rows, key=lambda row: (rfc3339_ns(row.created), row.run_id))

    async def list_page(
        self, criteria: Filter, limit: int, cursor: str
    ) -> tuple[builtins.list[RunInfo], str]:
        """Return up to ``limit`` rows behind ``cursor``, and the next cursor."""
        if limit < 1:
            raise InvalidLimitError(f"a page of {limit} sessions cannot be asked for")
        place, after = self._bound_place(), _after(cursor)
        page: builtins.list[RunInfo] = []
        while (message := await self._next_meta(place, after)) is not None:
            row = await self._row(place, message, criteria)
            if row is not None and len(page) == limit:
                return page, str(after)
            after = message.seq
            page += [row] if row else []
        return page, ""

    async def describe(self, criteria: Filter, ids: Sequence[str]) -> builtins.list[RunInfo]:
        """Return rows in the order of ``ids``."""
        place = self._bound_place()
        known = [run_id for run_id in dict.fromkeys(ids) if valid_session_id(run_id)]
        return await _rows(known, lambda run_id: self._described(place, run_id, criteria))

    async def delete(self, run_id: str) -> None:
        """Remove a session, unless a run holds it."""
        place = self._place(run_id)
        tail = await stream_records.tail(place, run_id)
        if tail is None:
            return
        await self._require_free(place, run_id, tail)
        with stream_records.reading(place):
            await place.js.purge(place.stream, place.run(run_id))

    def _bound_place(self) -> Place:
        if self._bound is None:
            raise StoreError(f"the session stream {self._stream} was not bound before its use")
        return self._bound

    def _place(self, run_id: str) -> Place:
        if not valid_session_id(run_id):
            raise InvalidIdError(
                f"{run_id[:140]!r} cannot name a session: letters, digits, _ and - alone, "
                "a letter or digit first, at most 128 characters"
            )
        return self._bound_place()

    async def _tail(self, place: Place, run_id: str) -> Stored:
        tail = await stream_records.tail(place, run_id)
        if tail is None:
            raise stream_records.unknown(run_id)
        return tail

    async def _require_free(
        self, place: Place, run_id: str, tail: Stored, *, take_over: bool = False
    ) -> None:
        """Refuse a session whose holder answers, or is frozen and not to be taken from."""
        if await _is_settled(place, run_id, tail):
            return
        # Whose own lease lapsed asks once: a silent holder does not keep it out either.
        asked = self._presence.look if take_over else self._presence.ask
        with stream_records.reading(place):
            answer = await asked(run_id)
        if answer == "nobody" or (answer == "silent" and take_over):
            return
        how = "is held by another run" if answer == "held" else "is held by a run that is silent"
        raise LockedError(f"session {run_id} {how}; wait for its end", key=run_id)

    async def _handle(self, place: Place, run_id: str, tail: Stored | None) -> StreamJournal:
        try:
            watch = await self._presence.show(run_id)
        except BusError as exc:
            raise StoreError(f"session {run_id} cannot be opened: {exc}", key=OPTION_KEY) from exc
        return StreamJournal(place, run_id, tail, watch)

    async def _next_meta(self, place: Place, after: int) -> Stored | None:
        with stream_records.reading(place):
            return await place.js.next_after(place.stream, after, place.metas())

    async def _row(self, place: Place, message: Stored, criteria: Filter) -> RunInfo | None:
        run_id, meta = place.run_of(message.subject), stream_records.meta_of(message)
        if meta is None or not run_id or not matches(criteria, run_id, meta.agent):
            return None
        return await stream_records.row(place, run_id, meta)

    async def _described(self, place: Place, run_id: str, criteria: Filter) -> RunInfo | None:
        with stream_records.reading(place):
            message = await place.js.newest(place.stream, place.record(run_id, 1))
        return await self._row(place, message, criteria) if message else None


def required(js: JetStream | None) -> JetStream:
    """Return the streams of a connection that somebody opened.

    Raises:
        SetupError: nobody did.
    """
    if js is None:
        raise SetupError(
            'harness.sessions.backend is "jetstream" and there is no NATS connection: set'
            " nats_context",
            key="harness.sessions.backend",
        )
    return js


async def _is_settled(place: Place, run_id: str, tail: Stored) -> bool:
    """Say whether nobody can be at work: the session ended, and nobody claimed it since."""
    last = stream_records.record_of(tail)
    if isinstance(last.payload, Claim):
        return False
    _, deciding = await stream_records.newest_of_status(place, run_id, tail)
    return isinstance(deciding.payload, Terminal)


async def _rows(
    items: Sequence[T], read: Callable[[T], Awaitable[RunInfo | None]]
) -> list[RunInfo]:
    """Read the rows of ``items``, many at once, and keep their order."""
    room = asyncio.Semaphore(ROWS_AT_ONCE)

    async def one(item: T) -> RunInfo | None:
        async with room:
            return await read(item)

    async with asyncio.TaskGroup() as tasks:
        rows = [tasks.create_task(one(item)) for item in items]
    return [row for task in rows if (row := task.result())]


def _after(cursor: str) -> int:
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 20 and int(cursor)):
        raise InvalidCursorError("the page cursor was not handed out by this store")
    return int(cursor)
