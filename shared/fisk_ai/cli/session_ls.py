"""``fisk-ai session ls``: which sessions there are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fisk_ai.cli.session_flags import (
    add_page,
    command_of,
    directory_of,
    page_of,
    parser_of,
    with_store,
)
from fisk_ai.cli.session_table import listing, newest_first
from fisk_ai.render.width import terminal_width
from fisk_ai.sessions.listing import SUFFIX, holds_nothing
from fisk_ai.sessions.store import Filter, RunInfo
from fisk_ai.text.ids import valid_session_id
from fisk_ai.text.sanitise import for_terminal

_UNREADABLE = "No checkpointed sessions that can be read"
PATH_LIMIT = 400
"""Code points of a directory in a sentence."""


def ls(argv: Sequence[str]) -> int:
    """List the sessions of a store."""
    parser = parser_of("ls", "List sessions, newest first.")
    add_page(parser)
    arguments = parser.parse_args(argv)
    page = page_of(arguments)
    rows = with_store(arguments, lambda store: store.list(Filter()))
    directory = directory_of(arguments)
    left_out = left_out_of(directory, rows)
    if rows:
        print(listing(page.cut(newest_first(rows), "sessions"), width=terminal_width()))
        page.say_more(rows, "sessions")
    else:
        print(_UNREADABLE if left_out else _none(arguments, directory))
    say_left_out(left_out, arguments)
    return 0


def left_out_of(directory: Path | None, rows: Sequence[RunInfo]) -> list[str]:
    """Return the sessions whose files are in no row, since they cannot be read."""
    files = () if directory is None else directory.glob(f"*{SUFFIX}")
    listed = {info.run_id for info in rows}
    left_out = (path for path in files if path.stem not in listed and valid_session_id(path.stem))
    return sorted(path.stem for path in left_out if not holds_nothing(path))


def say_left_out(names: Sequence[str], arguments: argparse.Namespace) -> None:
    """Say on standard error that sessions are missing in what was printed."""
    if not names:
        return
    what = "1 session is" if len(names) == 1 else f"{len(names)} sessions are"
    show = command_of(("session", "show", names[0]), arguments)
    print(f"{what} left out, which cannot be read; to read why: {show}", file=sys.stderr)


def _none(arguments: argparse.Namespace, directory: Path | None) -> str:
    if arguments.state_dir and directory is not None and not directory.exists():
        return (
            f"No checkpointed sessions: {for_terminal(str(directory), PATH_LIMIT)} does not exist"
        )
    if arguments.config or arguments.state_dir:
        return "No checkpointed sessions"
    return "No checkpointed sessions; pass --config to read the store an agent is set up for"
