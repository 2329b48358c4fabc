"""One session as its records and as what they amount to, read without taking it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from fisk_ai.cli.session_naming import named
from fisk_ai.errors import StoreError
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Record
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it stood when it was read.

    ``holder`` names the process that ran it then, such as ``pid 7``; empty where none did, or
    nobody looked.
    """

    run_id: str
    records: list[Record]
    state: RunState
    holder: str = ""


async def read_named(store: Store, word: str) -> Session:
    """Read the session that a person names by its id or its token, and look who runs it.

    Raises:
        StoreError: as :func:`read`, and :func:`fisk_ai.cli.session_naming.named`.
    """
    return await named(store, word, partial(read_with_holder, store))


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


async def read_with_holder(store: Store, run_id: str) -> Session:
    """Read a session and look who runs it; raises as :func:`read`."""
    holder = await _holder(store, run_id)
    return replace(await read(store, run_id), holder=holder)


async def _holder(store: Store, run_id: str) -> str:
    try:
        return await store.held_by(run_id)
    except StoreError:
        return ""  # whoever takes the session is told why that fails; reading it needs no lock
