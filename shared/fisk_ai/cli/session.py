"""``fisk-ai session``: what is stored, read without taking any session from whoever runs it.

Each verb is a module imported only when it is called. Without ``--config`` the file store of this
machine is read, and no configuration code is imported. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from fisk_ai.cli.arguments import split_verb
from fisk_ai.cli.session_flags import PROGRAM, VALUED
from fisk_ai.cli.tree import Command, find, listing, subcommand_required

_HERE = "fisk_ai.cli.session_"

VERBS = (
    Command(name="ls", help="List sessions, newest first", module="ls", aliases=("list",)),
    Command(name="show", help="Show one session", module="show", aliases=("view",)),
    Command(name="rm", help="Remove sessions", module="rm", aliases=("delete",)),
    Command(name="stats", help="Show what a session cost", module="stats"),
    Command(name="query", help="Find calls in a session", module="query"),
    Command(name="search", help="Find sessions", module="search"),
    Command(name="pending", help="List what waits for a person", module="pending"),
    Command(name="answer", help="Answer a waiting question", module="answer"),
    Command(name="approve", help="Approve a waiting call", module="gate"),
    Command(name="deny", help="Deny a waiting call", module="gate"),
)
"""Every verb; its module holds a function of its name."""


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai session`` with its arguments and return the exit code."""
    word, rest = split_verb(argv, VALUED)
    if word is None and not {"-h", "--help"}.isdisjoint(rest):
        print(_help())
        return 0
    verb = find(VERBS, word) if word else None
    if verb is None:
        raise subcommand_required(VERBS, word, prog=PROGRAM)
    module = importlib.import_module(_HERE + verb.module)
    status: int = getattr(module, verb.name)(rest)
    return status


def _help() -> str:
    return (
        f"usage: {PROGRAM} [--config FILE] [--state-dir DIR] [--root-dir DIR] VERB ...\n\n"
        "Look at stored sessions, and decide what they wait for.\n\n"
        f"verbs:\n{listing(VERBS)}\n\n"
        f"'{PROGRAM} VERB --help' says more about one of them."
    )
