"""``fisk-ai session rm``: sessions that are no longer needed, by their ids or by their age."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from fisk_ai.cli.session_flags import directory_of, parser_of, with_store
from fisk_ai.cli.session_ls import left_out_of, say_left_out
from fisk_ai.cli.session_naming import named
from fisk_ai.cli.session_table import label
from fisk_ai.cli.times import age_ns
from fisk_ai.errors import (
    CorruptError,
    EmptyError,
    LockedError,
    NoMetaError,
    UsageError,
    VersionError,
)
from fisk_ai.sessions.store import Filter, RunInfo, Store
from fisk_ai.text import clock

_UNFINISHED = frozenset({"open", "suspended"})
"""How a session stands that may still go on; age alone does not remove it."""


def rm(argv: Sequence[str]) -> int:
    """Remove what the arguments name."""
    parser = parser_of("rm", "Remove sessions.")
    parser.add_argument(
        "ids", nargs="*", metavar="id", help="the sessions' ids, or their conversations' tokens"
    )
    parser.value("--older-than", "DURATION", "remove what ended and was last written longer ago")
    parser.switch("--open", "with --older-than: open and suspended sessions as well")
    parser.switch("--dry-run", "say what would be removed and remove nothing")
    arguments = parser.parse_args(argv)
    _refuse_contradictions(arguments)
    if arguments.older_than is None:
        if not arguments.ids:
            parser.error("the following arguments are required: id")
        with_store(
            arguments,
            lambda store: _remove_named(store, arguments.ids, dry_run=bool(arguments.dry_run)),
        )
        return 0
    before_ns = time.time_ns() - age_ns(arguments.older_than, "--older-than")
    listed = with_store(
        arguments,
        lambda store: _Aged(store, before_ns=before_ns, with_open=bool(arguments.open)).remove(
            dry_run=bool(arguments.dry_run)
        ),
    )
    say_left_out(left_out_of(directory_of(arguments), listed), arguments)
    return 0


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    if arguments.older_than is not None and arguments.ids:
        raise UsageError(
            "--older-than takes no ids: it goes by age; leave one of the two out",
            key="--older-than",
        )
    if arguments.open and arguments.older_than is None:
        raise UsageError("--open only applies with --older-than", key="--open")


async def _remove_named(store: Store, ids: Sequence[str], *, dry_run: bool) -> None:
    for word in ids:
        session_id = await named(store, word, partial(_known, store))
        await _delete(store, session_id, dry_run=dry_run)


async def _delete(store: Store, session_id: str, *, dry_run: bool) -> None:
    """Remove a session, or say that it would be, and say so.

    Raises:
        LockedError: a run holds it, in a dry run as well.
    """
    if not dry_run:
        await store.delete(session_id)
        print(f"Removed session {label(session_id)}")
        return
    holder = await store.held_by(session_id)
    if holder:
        raise LockedError(
            f"session {session_id} is held by another run ({holder}); wait for its end",
            key=session_id,
        )
    print(f"Would remove session {label(session_id)}")


async def _known(store: Store, session_id: str) -> str:
    """Refuse an id that names nothing; what is there may be removed whatever state it is in."""
    with suppress(CorruptError, EmptyError, NoMetaError, VersionError):
        await store.load(session_id)
    return session_id


class _Aged:
    """The sessions of a store that nobody wrote to for some time."""

    def __init__(self, store: Store, *, before_ns: int, with_open: bool) -> None:
        self._store = store
        self._before_ns = before_ns
        self._with_open = with_open

    async def remove(self, *, dry_run: bool) -> list[RunInfo]:
        """Remove them and return every session that was looked at."""
        rows = await self._store.list(Filter())
        due = list(filter(self._is_due, rows))
        for row in due:
            await self._remove(row.run_id, dry_run=dry_run)
        if not due:
            print("Nothing to remove")
        return rows

    async def _remove(self, run_id: str, *, dry_run: bool) -> None:
        # Looked at once more: since the listing, somebody may have gone on with it and be done.
        if not any(map(self._is_due, await self._store.describe(Filter(), [run_id]))):
            return
        try:
            await _delete(self._store, run_id, dry_run=dry_run)
        except LockedError:
            print(f"skipped session {run_id}: a run holds it", file=sys.stderr)

    def _is_due(self, row: RunInfo) -> bool:
        if row.status in _UNFINISHED and not self._with_open:
            return False
        return clock.rfc3339_ns(row.updated) < self._before_ns
