"""``fisk-ai job``: prompts put into a work queue, and what became of them.

Each verb is a module imported only when it is called. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from fisk_ai.cli.arguments import split_verb
from fisk_ai.cli.tree import Command, find, listing, subcommand_required

PROGRAM = "fisk-ai job"

_HERE = "fisk_ai.cli.job_"
_VALUED = frozenset({"--config", "--nats-context"})

VERBS = (
    Command(name="submit", help="Put a prompt into a queue", module="submit", aliases=("add",)),
    Command(name="show", help="Show one job", module="show", aliases=("view",)),
    Command(name="ls", help="List jobs, newest first", module="ls", aliases=("list",)),
    Command(name="watch", help="Tell what becomes of jobs", module="watch"),
    Command(name="retry", help="Have a job tried again", module="retry"),
)
"""Every verb; its module holds a function of its name."""


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai job`` with its arguments and return the exit code."""
    word, rest = split_verb(argv, _VALUED)
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
        f"usage: {PROGRAM} [--config FILE] [--nats-context NAME] VERB ...\n\n"
        "Put prompts into a work queue, and see what became of them.\n\n"
        f"verbs:\n{listing(VERBS)}\n\n"
        f"'{PROGRAM} VERB --help' says more about one of them."
    )
