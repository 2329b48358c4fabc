"""One session as its records and as what they amount to, read without taking it."""

from __future__ import annotations

from dataclasses import dataclass

from fisk_ai.errors import StoreError
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Record
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it stood when it was read."""

    run_id: str
    records: list[Record]
    state: RunState


async def read(store: Store, run_id: str) -> Session:
    """Read a session.

    Raises:
        StoreError: as :meth:`fisk_ai.sessions.store.Store.load`; names the session.
    """
    records = await store.records(run_id)
    try:
        return Session(run_id, records, fold(records))
    except StoreError as exc:
        raise type(exc)(f"session {run_id}: {exc}") from exc
