"""What a stream holds of a session: its records, its newest one, and its row of a listing.

There is no torn tail on a stream: a message that cannot be read was written by something else.
Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from typing import Final

from fisk_ai.bus.stored import Stored
from fisk_ai.bus.stream_reading import Reading, read
from fisk_ai.errors import BusError, CorruptError, NotFoundError, StoreError
from fisk_ai.sessions import codec
from fisk_ai.sessions.records import Claim, MemoryRevisions, Meta, Record, Terminal
from fisk_ai.sessions.store import RunInfo
from fisk_ai.sessions.stream_option import OPTION_KEY
from fisk_ai.sessions.stream_place import Place, seq_of

STEPS_BACK: Final = 3
"""Records behind the status at the end of a session: a claim, revisions, and one to spare."""


async def records(place: Place, run_id: str) -> list[Record]:
    """Return the records of a session, ordered by their numbers.

    Raises:
        NotFoundError: there is none.
        CorruptError: a message is no record, or not the one its subject says; names the subject.
        StoreError: the stream cannot be read.
    """
    with reading(place):
        messages = read(place.js, Reading(place.stream, place.run(run_id)))
        async with aclosing(messages):
            found = [record_of(message) async for message in messages]
    if not found:
        raise unknown(run_id)
    return sorted(found, key=lambda record: record.seq)


async def tail(place: Place, run_id: str) -> Stored | None:
    """Return the newest record of a session as it is stored; raises StoreError."""
    with reading(place):
        return await place.js.newest(place.stream, place.run(run_id))


async def metas(place: Place) -> AsyncGenerator[tuple[str, Meta]]:
    """Yield the id and first record of every session, oldest first; raises StoreError.

    One that cannot be read is passed over, as in every listing.
    """
    with reading(place):
        messages = read(place.js, Reading(place.stream, place.metas()))
        async with aclosing(messages):
            async for message in messages:
                meta = meta_of(message)
                run_id = place.run_of(message.subject)
                if meta is not None and run_id:
                    yield run_id, meta


async def newest_of_status(place: Place, run_id: str, last: Stored) -> tuple[Stored, Record]:
    """Return the newest record that decides the status: neither a claim nor revisions.

    Raises:
        CorruptError: one on the way cannot be read.
        StoreError: the stream cannot be read.
    """
    message, record = last, record_of(last)
    for _ in range(STEPS_BACK):
        if record.seq <= 1 or not isinstance(record.payload, Claim | MemoryRevisions):
            break
        with reading(place):
            before = await place.js.newest(place.stream, place.record(run_id, record.seq - 1))
        if before is None:
            break
        message, record = before, record_of(before)
    return message, record


async def last_step(place: Place, run_id: str) -> int:
    """Return the number of the last record that is no claim, 0 where there is none.

    One that cannot be read counts as a step: whoever loads the session is told.

    Raises:
        StoreError: the stream cannot be read.
    """
    message = await tail(place, run_id)
    while message is not None:
        try:
            record = record_of(message)
        except CorruptError:
            return seq_of(message.subject)
        if not isinstance(record.payload, Claim):
            return record.seq
        with reading(place):
            message = await place.js.newest(place.stream, place.record(run_id, record.seq - 1))
    return 0


async def row(place: Place, run_id: str, meta: Meta) -> RunInfo | None:
    """Return the row of a session from two of its records, ``None`` when they cannot be read.

    Raises:
        StoreError: the stream cannot be read.
    """
    last = await tail(place, run_id)
    if last is None:
        return None
    try:
        deciding, record = await newest_of_status(place, run_id, last)
        updated = record_of(last).time or last.time
    except CorruptError:
        return None
    terminal = record.payload if isinstance(record.payload, Terminal) else None
    return RunInfo(
        run_id=run_id,
        created=meta.created,
        updated=updated,
        status=terminal.reason if terminal else "open",
        ended=(record.time or deciding.time) if terminal else "",
        model=meta.fingerprint.model,
        prompt=meta.prompt,
        agent=meta.agent,
        caller=meta.caller,
        terminal=terminal,
    )


def meta_of(message: Stored) -> Meta | None:
    """Return the first record of a session, ``None`` when it is none."""
    try:
        payload = codec.decode(message.body).payload
    except CorruptError:
        return None
    return payload if isinstance(payload, Meta) else None


def record_of(message: Stored) -> Record:
    """Read one message.

    Raises:
        CorruptError: it is no record, or not the one its subject says; names the subject.
    """
    try:
        record = codec.decode(message.body)
    except CorruptError as exc:
        raise CorruptError(f"{message.subject}: {exc}") from exc
    if record.seq != seq_of(message.subject):
        raise CorruptError(f"{message.subject} holds record {record.seq}, which belongs elsewhere")
    return record


def unknown(run_id: str) -> NotFoundError:
    """Return the refusal of a session that is not there."""
    return NotFoundError(f"there is no session {run_id}")


@contextmanager
def reading(place: Place) -> Generator[None]:
    """Translate what the bus says."""
    try:
        yield
    except BusError as exc:
        raise StoreError(
            f"sessions in stream {place.stream} cannot be read: {exc}", key=OPTION_KEY
        ) from exc
