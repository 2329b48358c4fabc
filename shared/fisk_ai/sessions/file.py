"""Sessions in files: one per session, for one person on one machine.

The directory belongs to its user alone. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import asyncio
import builtins
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fisk_ai import faults
from fisk_ai.errors import (
    BusError,
    CorruptError,
    EmptyError,
    ExistsError,
    InvalidIdError,
    InvalidLimitError,
    LockedError,
    NotFoundError,
    SetupError,
    StoreError,
    VersionError,
)
from fisk_ai.faults import Point
from fisk_ai.filestore import StoreDirectory, sync_directory
from fisk_ai.sessions import lines, listing, locking
from fisk_ai.sessions.file_directory import OPTION_KEY
from fisk_ai.sessions.file_journal import FileJournal, open_journal
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.locking import Lock
from fisk_ai.sessions.records import FORMAT_VERSION, Claim, Meta, Record, unsupported
from fisk_ai.sessions.regular import LOCK_SUFFIX, open_regular, read_regular
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Filter, RunInfo, Standing, StoreInfo
from fisk_ai.sessions.threads import settled
from fisk_ai.text.ids import valid_session_id

if TYPE_CHECKING:
    from fisk_ai.sessions.presence import Presence

T = TypeVar("T")


class FileStore:
    """Keeps sessions as ``<id>.json`` and their locks as ``<id>.lock`` in one directory."""

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        """Use ``directory``, made with its first session; to read, take it as it is.

        Raises:
            SetupError: it cannot be made, or not be written; to read, it is no directory.
        """
        self._directory = directory
        self._place: StoreDirectory | None = None
        self._presence: Presence | None = None
        try:
            if read_only:
                _require_readable(directory)
            else:
                self._place = StoreDirectory(directory)
        except OSError as exc:
            raise _unusable(directory, exc.strerror or str(exc)) from exc

    def appear(self, presence: Presence) -> None:
        """Answer for held sessions from now on; who holds one is still decided by its lock."""
        self._presence = presence

    def info(self) -> StoreInfo:
        """Name the backend; never the path."""
        return StoreInfo("file")

    async def bind(self) -> None:
        """Return at once: the directory was looked at when this store was made."""

    async def create(self, run_id: str, meta: Meta) -> FileJournal:
        """Open a new session; see :class:`fisk_ai.sessions.store.Store`."""
        path = self._path(run_id)
        if meta.version not in (0, FORMAT_VERSION):
            raise VersionError(unsupported(meta.version))
        stamped = replace(meta, version=FORMAT_VERSION, run_id=run_id)
        journal = await settled(partial(self._create, path, stamped), undo=FileJournal.release)
        return await self._shown(run_id, journal)

    async def open(self, run_id: str, *, take_over: bool = False) -> FileJournal:
        """Open a session for writing; a lock never outlives its holder, so none is taken over."""
        path = self._path(run_id)
        journal = await settled(partial(self._open, path), undo=FileJournal.release)
        return await self._shown(run_id, journal)

    async def load(self, run_id: str) -> RunState:
        """Fold a session without taking it."""
        path = self._path(run_id)
        return await self._reading(partial(_folded, path))

    async def held_by(self, run_id: str) -> str:
        """Name who holds a session for writing."""
        lock_path = _lock_path(self._path(run_id))
        return await self._reading(partial(_holder, lock_path))

    async def standing(self, run_id: str) -> Standing:
        """Say how far a session is, and whether a process has it."""
        held = bool(await self.held_by(run_id))
        try:
            records = await self.records(run_id)
        except (NotFoundError, EmptyError, CorruptError):
            return Standing(held=held, last_seq=0)
        steps = (record.seq for record in records if not isinstance(record.payload, Claim))
        return Standing(held=held, last_seq=max(steps, default=0))

    async def records(self, run_id: str) -> builtins.list[Record]:
        """Return a session's records without taking it."""
        path = self._path(run_id)
        return await self._reading(lambda: list(_records(path)))

    async def list(self, criteria: Filter) -> builtins.list[RunInfo]:
        """Return all matching sessions, oldest first."""
        return await self._reading(lambda: list(self._rows(criteria, "")))

    async def list_page(
        self, criteria: Filter, limit: int, cursor: str
    ) -> tuple[builtins.list[RunInfo], str]:
        """Return up to ``limit`` rows behind ``cursor``, and the next cursor."""
        if limit < 1:
            raise InvalidLimitError(f"a page of {limit} sessions cannot be asked for")
        return await self._reading(partial(self._page, criteria, limit, cursor))

    async def describe(self, criteria: Filter, ids: Sequence[str]) -> builtins.list[RunInfo]:
        """Return rows in the order of ``ids``."""
        return await self._reading(partial(self._describe, criteria, tuple(ids)))

    async def delete(self, run_id: str) -> None:
        """Remove a session and its lock file."""
        await settled(partial(self._delete, self._path(run_id)))

    async def _shown(self, run_id: str, journal: FileJournal) -> FileJournal:
        if self._presence is not None:
            try:
                journal.shown_by(await self._presence.show(run_id))
            except BaseException as exc:
                await journal.close()
                if isinstance(exc, BusError):
                    raise StoreError(f"session {run_id} cannot be answered for: {exc}") from exc
                raise
        return journal

    def _path(self, run_id: str) -> Path:
        if not valid_session_id(run_id):
            raise InvalidIdError(
                f"{run_id[:140]!r} cannot name a session: letters, digits, _ and - alone, "
                "a letter or digit first, at most 128 characters"
            )
        return self._directory / f"{run_id}{listing.SUFFIX}"

    async def _reading(self, work: Callable[[], T]) -> T:
        with self._translated("read"):
            return await asyncio.to_thread(work)

    def _create(self, path: Path, meta: Meta) -> FileJournal:
        with self._translated("written"):
            if self._place is not None:
                self._place.make()
            lock = locking.acquire(_lock_path(path))
            if lock is None:
                raise _exists(path) if path.exists() else _locked(path)
            with _kept(lock, path):
                faults.point(Point.JOURNAL_CREATE_LOCKED)
                journal = _new_journal(path, lock)
                journal.begin()
            try:
                faults.point(Point.JOURNAL_CREATE_OPENED)
                journal.write(1, meta)
            except BaseException:
                journal.discard()
                raise
            return journal

    def _open(self, path: Path) -> FileJournal:
        with self._translated("opened"):
            if not path.exists():
                raise NotFoundError(f"there is no session {path.stem}")
            lock = locking.acquire(_lock_path(path))
            if lock is None:
                raise _locked(path)
            with _kept(lock, path):
                journal = open_journal(path, lock)
            try:
                journal.adopt()
            except BaseException:
                journal.release()
                raise
            return journal

    def _rows(self, criteria: Filter, cursor: str) -> Iterator[RunInfo]:
        start = listing.place_of(cursor) if cursor else None
        ordered = listing.places(self._directory, criteria)
        return listing.rows(
            self._directory, (place for place in ordered if start is None or place > start)
        )

    def _page(
        self, criteria: Filter, limit: int, cursor: str
    ) -> tuple[builtins.list[RunInfo], str]:
        found = list(islice(self._rows(criteria, cursor), limit + 1))
        if len(found) <= limit:
            return found, ""
        page = found[:limit]
        return page, listing.place_of_row(page[-1]).cursor()

    def _describe(self, criteria: Filter, ids: tuple[str, ...]) -> builtins.list[RunInfo]:
        known = (run_id for run_id in dict.fromkeys(ids) if valid_session_id(run_id))
        found = (listing.row_of(self._path(run_id)) for run_id in known)
        return [row for row in found if row and listing.matches(criteria, row.run_id, row.agent)]

    def _delete(self, path: Path) -> None:
        lock_path = _lock_path(path)
        with self._translated("deleted"):
            if not path.exists() and not lock_path.exists():
                return
            lock = locking.acquire(lock_path)
            if lock is None:
                raise _locked(path)
            with _kept(lock, path):
                path.unlink(missing_ok=True)
                sync_directory(self._directory)
            lock.release(remove=True)

    @contextmanager
    def _translated(self, verb: str) -> Generator[None]:
        try:
            yield
        except OSError as exc:
            raise StoreError(
                f"sessions in {self._directory} cannot be {verb}: {exc.strerror or exc}",
                key=OPTION_KEY,
            ) from exc


def _records(path: Path) -> tuple[Record, ...]:
    try:
        data = read_regular(path)
    except FileNotFoundError as exc:
        raise NotFoundError(f"there is no session {path.stem}") from exc
    records = lines.parse(data, path.name).records
    if not records:
        raise EmptyError(f"session {path.stem} has no record; its creation was interrupted")
    return records


def _folded(path: Path) -> RunState:
    records = _records(path)
    try:
        return fold(records)
    except StoreError as exc:
        raise type(exc)(f"session {path.stem}: {exc}") from exc


def _new_journal(path: Path, lock: Lock) -> FileJournal:
    """Open a file that holds no record yet, made here or left by a creation that died."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
    try:
        return FileJournal(path, lock, open_regular(path, flags, locking.FILE_MODE))
    except FileExistsError:
        if not _is_unborn(path):
            raise _exists(path) from None
    return open_journal(path, lock)


def _is_unborn(path: Path) -> bool:
    try:
        return not lines.parse(read_regular(path), path.name).records
    except CorruptError:
        return False


@contextmanager
def _kept(lock: Lock, path: Path) -> Generator[None]:
    """Let go of the lock when the work under it fails; a lock file without a session goes, too."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            lock.release(remove=not os.path.lexists(path))
        raise


def _lock_path(path: Path) -> Path:
    return path.with_suffix(LOCK_SUFFIX)


def _holder(lock_path: Path) -> str:
    if not locking.is_held(lock_path):
        return ""
    return locking.holder(lock_path) or "pid unknown"


def _require_readable(directory: Path) -> None:
    """Let a directory that is not there be: it holds no session."""
    try:
        with os.scandir(directory):
            return
    except FileNotFoundError:
        return


def _unusable(directory: Path, reason: str) -> SetupError:
    return SetupError(
        f"the session directory {directory} cannot be used: {reason}; "
        "choose another with harness.sessions.options.directory or --state-dir",
        key=OPTION_KEY,
    )


def _exists(path: Path) -> ExistsError:
    return ExistsError(f"session {path.stem} exists already; resume it or choose another id")


def _locked(path: Path) -> LockedError:
    holder = locking.holder(_lock_path(path))
    named = f" ({holder})" if holder else ""
    return LockedError(
        f"session {path.stem} is held by another run{named}; wait for its end", key=path.stem
    )
