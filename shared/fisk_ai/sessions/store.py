"""The contract of a session store and of the journal it opens, and the registry of backends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fisk_ai.registry import Registry
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.records import Meta, Payload, Record, Status, Terminal
from fisk_ai.sessions.state import RunState


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Which backend this is; ``location`` is empty for files, never a path."""

    backend: str
    location: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """One row of a listing; times are RFC 3339 texts, ``ended`` is empty while none is recorded."""

    run_id: str
    created: str
    updated: str
    status: Status
    ended: str = ""
    model: str = ""
    prompt: str = ""
    agent: str = ""
    caller: str = ""
    terminal: Terminal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which sessions to list; an empty field asks for nothing."""

    agent: str = ""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a session before it is loaded.

    ``held`` says that whoever is at work on it answered. ``last_seq`` is the number of its last
    record that is no claim, so that it moves with every step recorded; 0 where there is none.
    """

    held: bool
    last_seq: int


class Journal(Protocol):
    """An open session; owned by one task.

    The caller keeps no counter: it appends at ``last_seq() + 1`` each time.
    """

    def last_seq(self) -> int:
        """Return the sequence number of the last durable record."""
        ...

    async def append(self, seq: int, payload: Payload) -> None:
        """Write one record durably; a ``seq`` already written is a silent no-op.

        Raises:
            SeqGapError: ``seq`` is beyond the next one.
            LockedError: another writer advanced this session.
            UnwritableError: the record breaks its own rules; nothing was written.
            StoreError: it could not be made durable. It may have landed; the next append at that
                number must carry the same payload.
        """
        ...

    async def records(self) -> list[Record]:
        """Return every record, oldest first."""
        ...

    async def check_held(self) -> None:
        """Return while this handle may still write.

        Raises:
            LockedError: another writer took the session.
        """
        ...

    async def close(self) -> None:
        """Let go of the session; calling it twice is harmless."""
        ...


class Store(Protocol):
    """Where sessions are kept; safe to share between runs."""

    def info(self) -> StoreInfo:
        """Name the backend."""
        ...

    async def bind(self) -> None:
        """Look once at what exists outside of this process; before anything else is done.

        Raises:
            SetupError: it is not there, or could lose a record; says what to change.
        """
        ...

    async def create(self, run_id: str, meta: Meta) -> Journal:
        """Open a new session whose first record is ``meta``.

        Raises:
            ExistsError, InvalidIdError, LockedError, VersionError: as their names say.
        """
        ...

    async def open(self, run_id: str, *, take_over: bool = False) -> Journal:
        """Open an existing session for writing.

        Raises:
            NotFoundError, InvalidIdError, LockedError: as their names say.
        """
        ...

    async def load(self, run_id: str) -> RunState:
        """Fold a session without taking it.

        Raises:
            NotFoundError, InvalidIdError, EmptyError, CorruptError, VersionError: as named.
        """
        ...

    async def held_by(self, run_id: str) -> str:
        """Name who holds a session for writing, such as ``pid 7``; empty when nobody does.

        An unknown session is held by nobody. It is looked at and not taken.

        Raises:
            InvalidIdError, CorruptError, StoreError: as named.
        """
        ...

    async def standing(self, run_id: str) -> Standing:
        """Say how far a session is and whether it is held; one that is not there is neither.

        Raises:
            InvalidIdError, StoreError: as named; one that does not fold is no error here.
        """
        ...

    async def records(self, run_id: str) -> list[Record]:
        """Return a session's records without taking it; raises as :meth:`load`."""
        ...

    async def list(self, criteria: Filter) -> list[RunInfo]:
        """Return all matching sessions, oldest first; one that does not fold is left out."""
        ...

    async def list_page(
        self, criteria: Filter, limit: int, cursor: str
    ) -> tuple[list[RunInfo], str]:
        """Return up to ``limit`` rows behind ``cursor`` and the next cursor, empty at the end.

        Raises:
            InvalidLimitError, InvalidCursorError: as their names say.
        """
        ...

    async def describe(self, criteria: Filter, ids: Sequence[str]) -> list[RunInfo]:
        """Return rows in the order of ``ids``; unknown and unreadable ones are left out."""
        ...

    async def delete(self, run_id: str) -> None:
        """Remove a session; an unknown one is fine.

        Raises:
            LockedError: a run holds it.
        """
        ...


_backends: Registry[StoreConfig, Store] = Registry(
    "session backend", key="harness.sessions.backend"
)

register = _backends.register
names = _backends.names
check = _backends.check
needs_broker = _backends.needs_broker
new = _backends.new
