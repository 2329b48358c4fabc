"""``fisk-ai turn``: durable turns that were set aside, for the operator of an agent.

Not the turn of a chat, which is :mod:`fisk_ai.cli.turn`. Each verb is a module imported only when
it is called. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from fisk_ai.cli.arguments import split_verb
from fisk_ai.cli.tree import Command, find, listing, subcommand_required
from fisk_ai.cli.turn_place import PROGRAM, VALUED

_HERE = "fisk_ai.cli.turn_"

VERBS = (
    Command(name="ls", help="List turns that were set aside", module="ls", aliases=("list",)),
    Command(name="show", help="Show one of them", module="show", aliases=("view",)),
    Command(name="retry", help="Put turns into their queue again", module="retry"),
    Command(name="drop", help="Remove turns for good", module="drop", aliases=("rm",)),
)
"""Every verb; its module holds a function of its name."""


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai turn`` with its arguments and return the exit code."""
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
        f"usage: {PROGRAM} [--config FILE] [--nats-context NAME] [--identity NAME] VERB ...\n\n"
        "Look at durable turns that were set aside, and decide what becomes of them.\n\n"
        f"verbs:\n{listing(VERBS)}\n\n"
        f"'{PROGRAM} VERB --help' says more about one of them."
    )
