"""One open session file: what makes a record durable, and what a failed append leaves behind.

A record counts when its line and the file's directory entry are on the disk. After a failure the
file may hold the whole record, a part or nothing; before the next attempt it is cut back to the
last record that counts. A file that somebody removed, replaced or changed meanwhile is not written
any more: what this handle appends would be lost or damage theirs. Rules:
``docs/reference/sessions.md``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai import faults
from fisk_ai.errors import EmptyError, NotFoundError, StoreError
from fisk_ai.faults import Point
from fisk_ai.filestore import sync_directory
from fisk_ai.sessions import codec, lines
from fisk_ai.sessions.file_directory import OPTION_KEY
from fisk_ai.sessions.locking import Lock
from fisk_ai.sessions.records import Payload, Record
from fisk_ai.sessions.regular import open_regular
from fisk_ai.sessions.sequence import check_append
from fisk_ai.sessions.threads import settled
from fisk_ai.text.clock import rfc3339_now

if TYPE_CHECKING:
    from fisk_ai.bus.connection import Watch


@dataclass(frozen=True, slots=True)
class _Doubt:
    """An append that may have landed; a retry must carry the same bytes."""

    seq: int
    payload: Payload
    body: bytes


class FileJournal:
    """A session file under its lock."""

    def __init__(self, path: Path, lock: Lock, fd: int) -> None:
        """Take over ``fd``, open for reading and appending, and ``lock``."""
        self._path = path
        self._lock = lock
        self._fd = fd
        self._last = 0
        self._length_bytes = 0
        self._is_ragged = False
        self._is_listed = True
        self._doubt: _Doubt | None = None
        self._watch: Watch | None = None

    def shown_by(self, watch: Watch) -> None:
        """Take ``watch``, which answers for this session, and close it at the end."""
        self._watch = watch

    def last_seq(self) -> int:
        """Return the number of the last durable record."""
        return self._last

    async def append(self, seq: int, payload: Payload) -> None:
        """Write one record durably; see :class:`fisk_ai.sessions.store.Journal`."""
        self._check_open()
        await settled(partial(self.write, seq, payload))

    async def records(self) -> list[Record]:
        """Return every durable record, oldest first."""
        self._check_open()
        return await settled(lambda: list(self._parse().records))

    async def check_held(self) -> None:
        """Return while the file is the one this handle wrote; nobody else may take its lock.

        Raises:
            StoreError: it was removed, replaced or changed.
        """
        self._check_open()
        self._check_unchanged()  # two look-ups, a hundredth of what a thread's turn costs

    async def close(self) -> None:
        """Let go of the file and its lock; calling it twice is harmless."""
        watch, self._watch = self._watch, None
        try:
            await settled(self.release)
        finally:
            if watch is not None:
                await watch.close()

    def adopt(self) -> None:
        """Find the last record of an existing file and mend its end.

        Raises:
            EmptyError: there is no record.
            CorruptError: the file is damaged.
        """
        parsed = self._parse()
        if not parsed.records:
            raise EmptyError(
                f"session {self._path.stem} has no record; its creation was interrupted"
            )
        self._last = parsed.records[-1].seq
        self._length_bytes = parsed.length_bytes
        self._mend()

    def begin(self) -> None:
        """Start at record 1; whatever the file holds was never durable."""
        self._is_ragged = True
        self._is_listed = False

    def write(self, seq: int, payload: Payload) -> None:
        """Do the work of :meth:`append`; blocks on the disk."""
        if not check_append(self._last, seq):
            return
        if self._is_listed:
            self._check_unchanged()
        key = codec.key_of(payload)
        self._doubt = self._doubt_of(seq, payload)
        line = self._doubt.body + b"\n"
        faults.point(Point.JOURNAL_APPEND_BEFORE, key)
        try:
            self._write_line(line, key)
        except OSError as exc:
            raise StoreError(
                f"record {seq} of session {self._path.stem} could not be made durable in "
                f"{self._path.parent}: {exc.strerror or exc}",
                key=OPTION_KEY,
            ) from exc
        faults.point(Point.JOURNAL_APPEND_SYNCED, key)
        self._doubt = None
        self._is_ragged = False
        self._last = seq
        self._length_bytes += len(line)

    def discard(self) -> None:
        """Remove a file whose first record did not become durable, and its lock, and let go."""
        is_gone = False
        try:
            self._path.unlink(missing_ok=True)
            is_gone = True
        finally:
            self._let_go(with_lock_file=is_gone)

    def release(self) -> None:
        """Do the work of :meth:`close`."""
        self._let_go(with_lock_file=False)

    def _let_go(self, *, with_lock_file: bool) -> None:
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        self._lock.release(remove=with_lock_file)

    def _doubt_of(self, seq: int, payload: Payload) -> _Doubt:
        if self._doubt is not None and (self._doubt.seq, self._doubt.payload) == (seq, payload):
            return self._doubt
        body = codec.encode(codec.record_of(seq, payload, time=rfc3339_now()))
        return _Doubt(seq, payload, body)

    def _write_line(self, line: bytes, key: str) -> None:
        if self._is_ragged:
            os.ftruncate(self._fd, self._length_bytes)
        self._is_ragged = True
        write_all(self._fd, line)
        faults.point(Point.JOURNAL_APPEND_WRITTEN, key)
        os.fsync(self._fd)
        if not self._is_listed:
            sync_directory(self._path.parent)
            self._is_listed = True

    def _mend(self) -> None:
        size = os.fstat(self._fd).st_size
        if size > self._length_bytes:
            os.ftruncate(self._fd, self._length_bytes)
        elif os.pread(self._fd, 1, size - 1) != b"\n":
            write_all(self._fd, b"\n")
            self._length_bytes += 1
        else:
            return
        os.fsync(self._fd)

    def _parse(self) -> lines.Parsed:
        size = self._length_bytes or os.fstat(self._fd).st_size
        return lines.parse(read_exactly(self._fd, size), self._path.name)

    def _check_unchanged(self) -> None:
        """Refuse a file that is no longer at its place, or not as long as what was written."""
        name = self._path.stem
        if not self._is_at_its_place():
            raise StoreError(
                f"session {name} was removed or replaced while it ran; nothing more is recorded, "
                "so the run ends here"
            )
        size = os.fstat(self._fd).st_size
        if size < self._length_bytes or (size > self._length_bytes and not self._is_ragged):
            raise StoreError(
                f"session {name} was changed by something else while it ran; nothing more is "
                "recorded, so the run ends here"
            )

    def _is_at_its_place(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._fd))
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise StoreError(
                f"session {self._path.stem} cannot be reached while it runs: {exc.strerror or exc}",
                key=OPTION_KEY,
            ) from exc

    def _check_open(self) -> None:
        if self._fd < 0:
            raise StoreError(f"session {self._path.stem} was closed already")


def open_journal(path: Path, lock: Lock) -> FileJournal:
    """Open an existing file under its lock, ready to append; raises OSError."""
    try:
        fd = open_regular(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError as exc:
        raise NotFoundError(f"there is no session {path.stem}") from exc
    return FileJournal(path, lock, fd)


def read_exactly(fd: int, size: int) -> bytes:
    """Return the first ``size`` bytes, or fewer when the file ends before."""
    parts: list[bytes] = []
    offset = 0
    while offset < size and (part := os.pread(fd, size - offset, offset)):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes) -> None:
    """Write everything; a full disk takes a part first and refuses the rest."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
