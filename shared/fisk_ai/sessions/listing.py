"""Rows and pages over session files, oldest first.

A listing never fails because of one bad file: what does not fold is not shown. Rules:
``docs/reference/sessions.md``.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.errors import CorruptError, InvalidCursorError, StoreError
from fisk_ai.sessions import codec, lines
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Meta, Record, Terminal
from fisk_ai.sessions.regular import open_regular, read_regular
from fisk_ai.sessions.store import Filter, RunInfo
from fisk_ai.text import clock
from fisk_ai.text.ids import valid_session_id

SUFFIX = ".json"
"""What a session's file name ends in; its stem is the session id."""

_EARLIEST = clock.rfc3339_ns(clock.UNSET)
_LATEST = clock.rfc3339_ns("9999-12-31T23:59:59.999999999Z")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a session stands in the order of listings."""

    created_ns: int
    run_id: str

    def cursor(self) -> str:
        """Name this place for the next page."""
        text = f"{clock.rfc3339(self.created_ns)}|{self.run_id}"
        return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")


def place_of(cursor: str) -> Place:
    """Return the place that a cursor names.

    Raises:
        InvalidCursorError: no place of ours is named so.
    """
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        created, _, run_id = text.decode().partition("|")
        place = Place(clock.rfc3339_ns(created), run_id)
    except (binascii.Error, ValueError) as exc:
        raise InvalidCursorError("the page cursor was not handed out by this store") from exc
    if not valid_session_id(run_id) or place.cursor() != cursor:
        raise InvalidCursorError("the page cursor was not handed out by this store")
    return place


def places(directory: Path, criteria: Filter) -> list[Place]:
    """Return the place of every session that matches, in order; raises OSError."""
    found = (_place(path, criteria) for path in directory.glob(f"*{SUFFIX}"))
    return sorted(place for place in found if place is not None)


def rows(directory: Path, ordered: Iterable[Place]) -> Iterator[RunInfo]:
    """Return the rows of those sessions that fold."""
    for place in ordered:
        row = row_of(directory / f"{place.run_id}{SUFFIX}")
        if row is not None:
            yield row


def place_of_row(row: RunInfo) -> Place:
    """Return where a row stands."""
    return _place_at(row.created, row.run_id)


def matches(criteria: Filter, run_id: str, agent: str) -> bool:
    """Say whether a session is asked for; one that names no agent belongs to every agent."""
    agrees = not criteria.agent or not agent or agent == criteria.agent
    return agrees and run_id.startswith(criteria.prefix)


def row_of(path: Path) -> RunInfo | None:
    """Return the row of one file, or ``None`` when it holds no session that folds."""
    try:
        records = lines.parse(read_regular(path), path.name).records
        state = fold(records)
        changed_ns = path.stat().st_mtime_ns
    except (StoreError, OSError):
        return None
    meta = state.meta
    return RunInfo(
        run_id=path.stem,
        created=meta.created,
        updated=records[-1].time or clock.rfc3339(changed_ns),
        status=state.status,
        ended="" if state.status == "open" else ended(records),
        model=meta.fingerprint.model,
        prompt=meta.prompt,
        agent=meta.agent,
        caller=meta.caller,
        terminal=None if state.status == "open" else state.terminal,
    )


def holds_nothing(path: Path) -> bool:
    """Say whether a file was left by a creation that died: not one line of it came to its end."""
    try:
        data = read_regular(path)
        is_torn = b"\n" not in data or not data.strip()
        return is_torn and not lines.parse(data, path.name).records
    except (StoreError, OSError):
        return False


def ended(records: Sequence[Record]) -> str:
    """Return when the last terminal was written, empty when that is not recorded."""
    times = (record.time for record in reversed(records) if isinstance(record.payload, Terminal))
    return next(times, "")


def _place(path: Path, criteria: Filter) -> Place | None:
    if not valid_session_id(path.stem):
        return None
    meta = _first_meta(path)
    if meta is None or not matches(criteria, path.stem, meta.agent):
        return None
    return _place_at(meta.created, path.stem)


def _first_meta(path: Path) -> Meta | None:
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            first = next((line for line in file if line.strip()), b"")
        payload = codec.decode(first).payload
    except (CorruptError, OSError):
        return None
    return payload if isinstance(payload, Meta) else None


def _place_at(created: str, run_id: str) -> Place:
    created_ns = clock.rfc3339_ns(created)
    return Place(min(max(created_ns, _EARLIEST), _LATEST), run_id)
