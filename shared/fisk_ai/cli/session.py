"""``fisk-ai session``: what is stored, read without taking any session from whoever runs it.

Without ``--config`` the file store of this machine is read, and no configuration code is imported.
Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fisk_ai.cli.arguments import CommandParser, split_verb
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.cli.session_document import document
from fisk_ai.cli.session_table import CELL_LIMIT, listing
from fisk_ai.cli.stores import open_store, session_directory
from fisk_ai.cli.times import moment
from fisk_ai.cli.tree import Command, find, not_built, subcommand_required
from fisk_ai.errors import CorruptError, EmptyError, NoMetaError, NotBuiltError, VersionError
from fisk_ai.sessions.listing import SUFFIX
from fisk_ai.sessions.store import Filter, RunInfo, Store
from fisk_ai.text.ids import valid_session_id
from fisk_ai.text.sanitise import for_terminal

PROGRAM = "fisk-ai session"
_UNREADABLE = "No checkpointed sessions that can be read"
PATH_LIMIT = 400
"""Code points of a directory in a sentence."""

_GROUP_FLAGS = frozenset({"--config", "--state-dir", "--root-dir"})

VERBS = (
    Command(name="ls", help="List sessions, newest first", module="ls", aliases=("list",)),
    Command(name="show", help="Show one session", module="show", aliases=("view",)),
    Command(name="rm", help="Remove sessions", module="rm", aliases=("delete",)),
    Command(name="stats", help="Show what a session cost"),
    Command(name="query", help="Find calls in a session"),
    Command(name="search", help="Find sessions"),
    Command(name="pending", help="List what waits for a person"),
    Command(name="answer", help="Answer a waiting question"),
    Command(name="approve", help="Approve a waiting call"),
    Command(name="deny", help="Deny a waiting call"),
)


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai session`` with its arguments and return the exit code."""
    word, rest = split_verb(argv, _GROUP_FLAGS)
    if word is None and not {"-h", "--help"}.isdisjoint(rest):
        print(subcommand_required(VERBS, None, prog=PROGRAM).usage)
        return 0
    verb = find(VERBS, word) if word else None
    if verb is None:
        raise subcommand_required(VERBS, word, prog=PROGRAM)
    if not verb.module:
        raise NotBuiltError(not_built(verb, VERBS, prog=PROGRAM), key=verb.name)
    return _HANDLERS[verb.module](rest)


def _parser(verb: str, description: str) -> CommandParser:
    parser = CommandParser(f"{PROGRAM} {verb}", description)
    parser.value("--config", "FILE", "read the store this configuration names")
    parser.value("--state-dir", "DIR", "read the sessions in this directory")
    parser.value("--root-dir", "DIR", "replace the configuration's root_directory")
    return parser


def _store(arguments: argparse.Namespace, *, read_only: bool = True) -> Store:
    return open_store(
        config_path=arguments.config,
        state_dir=arguments.state_dir,
        root_dir=arguments.root_dir,
        environ=os.environ,
        read_only=read_only,
    )


def _list(argv: Sequence[str]) -> int:
    arguments = _parser("ls", "List sessions, newest first.").parse_args(argv)
    rows = run_one_shot(_store(arguments).list(Filter()))
    directory = session_directory(
        config_path=arguments.config,
        state_dir=arguments.state_dir,
        root_dir=arguments.root_dir,
        environ=os.environ,
    )
    left_out = _left_out(directory, rows)
    if rows:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(listing(sorted(rows, key=_updated, reverse=True), width=width))
    else:
        print(_UNREADABLE if left_out else _none(arguments, directory))
    _say_left_out(left_out)
    return 0


def _none(arguments: argparse.Namespace, directory: Path | None) -> str:
    if arguments.state_dir and directory is not None and not directory.exists():
        return (
            f"No checkpointed sessions: {for_terminal(str(directory), PATH_LIMIT)} does not exist"
        )
    hint = "" if arguments.config else "; pass --config to read the store an agent is set up for"
    return f"No checkpointed sessions{hint}"


def _left_out(directory: Path | None, rows: Sequence[RunInfo]) -> list[str]:
    """Return the sessions whose files are in no row, since they cannot be read."""
    files = () if directory is None else directory.glob(f"*{SUFFIX}")
    listed = {info.run_id for info in rows}
    left_out = sorted(path.stem for path in files if path.stem not in listed)
    return [name for name in left_out if valid_session_id(name)]


def _say_left_out(names: Sequence[str]) -> None:
    if not names:
        return
    what = "1 session is" if len(names) == 1 else f"{len(names)} sessions are"
    print(
        f"{what} left out, which cannot be read: '{PROGRAM} show {names[0]}' says why",
        file=sys.stderr,
    )


def _updated(info: RunInfo) -> tuple[float, str]:
    written = moment(info.updated)
    return (written.timestamp() if written else 0.0), info.run_id


def _show(argv: Sequence[str]) -> int:
    parser = _parser("show", "Show one session.")
    parser.add_argument("id", help="the session's id")
    parser.switch("--transcript", "show the whole conversation")
    parser.switch("--thinking", "with --transcript: show reasoning")
    parser.switch("--no-tui", "with --transcript: print instead of paging")
    arguments = parser.parse_args(argv)
    if arguments.transcript:
        raise NotBuiltError(
            f"{PROGRAM} show --transcript is not built yet; leave it out to see where it stands",
            key="--transcript",
        )
    state = run_one_shot(_store(arguments).load(arguments.id))
    print(document(arguments.id, state))
    return 0


def _remove(argv: Sequence[str]) -> int:
    parser = _parser("rm", "Remove sessions.")
    parser.add_argument("ids", nargs="*", metavar="id", help="the sessions' ids")
    parser.value("--older-than", "DURATION", "remove what ended longer ago")
    arguments = parser.parse_args(argv)
    if arguments.older_than is not None:
        raise NotBuiltError(
            f"{PROGRAM} rm --older-than is not built yet; name the sessions to remove",
            key="--older-than",
        )
    if not arguments.ids:
        parser.error("the following arguments are required: id")
    run_one_shot(_remove_all(_store(arguments, read_only=False), arguments.ids))
    return 0


async def _remove_all(store: Store, ids: Sequence[str]) -> None:
    for session_id in ids:
        await _require_known(store, session_id)
        await store.delete(session_id)
        print(f"Removed session {for_terminal(session_id, CELL_LIMIT)}")


async def _require_known(store: Store, session_id: str) -> None:
    """Refuse an id that names nothing; what is there may be removed whatever state it is in."""
    try:
        await store.load(session_id)
    except (CorruptError, EmptyError, NoMetaError, VersionError):
        return


_HANDLERS: dict[str, Callable[[Sequence[str]], int]] = {
    "ls": _list,
    "show": _show,
    "rm": _remove,
}
