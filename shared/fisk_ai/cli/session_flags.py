"""What the verbs of ``fisk-ai session`` have in common: the store they look at, and pages."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fisk_ai.cli import stores
from fisk_ai.cli.arguments import CommandParser
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.cli.quoting import command_line
from fisk_ai.errors import UsageError
from fisk_ai.sessions.store import Store

PROGRAM = "fisk-ai session"

VALUED = frozenset({"--config", "--state-dir", "--root-dir", "--nats-context"})
"""Flags of the group that take a value; they may stand before the verb."""

PAGE_LIMIT = 1000
"""Rows that are printed where no other number is asked for."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which rows of a listing to print."""

    limit: int
    offset: int

    def cut(self, rows: Sequence[_T], what: str) -> Sequence[_T]:
        """Return the rows of this page; ``what`` they are is said of a page without any.

        Raises:
            UsageError: the page begins behind the last row; an empty one would say there is none.
        """
        if rows and self.offset >= len(rows):
            raise UsageError(
                f"--offset {self.offset} is behind the last of {len(rows)} {what}", key="--offset"
            )
        return rows[self.offset : self.offset + self.limit]

    def say_more(self, rows: Sequence[object], what: str) -> None:
        """Say on standard error when more of ``what`` are behind the page that was printed."""
        end = self.offset + self.limit
        if len(rows) > end:
            print(f"more {what}: pass --offset {end}", file=sys.stderr)


def parser_of(verb: str, description: str) -> CommandParser:
    """Return the parser of a verb with the flags of the group."""
    parser = CommandParser(f"{PROGRAM} {verb}", description)
    parser.value("--config", "FILE", "read the store this configuration names")
    parser.value("--state-dir", "DIR", "read the sessions in this directory")
    parser.value("--root-dir", "DIR", "replace the configuration's root_directory")
    parser.value("--nats-context", "NAME", "reach the broker by this NATS context")
    return parser


def add_identity(parser: CommandParser) -> None:
    """Add the flag of a verb that speaks to an agent."""
    parser.value("--identity", "NAME", "the agent to address (default: the configuration's)")


def add_page(parser: CommandParser) -> None:
    """Add the flags of a listing that may be long."""
    parser.value("--limit", "N", f"print at most N rows (default {PAGE_LIMIT})")
    parser.value("--offset", "N", "leave out the first N rows")


def page_of(arguments: argparse.Namespace) -> Page:
    """Return the page that was asked for.

    Raises:
        UsageError: a limit below one or an offset below zero.
    """
    return Page(
        limit=number_of(arguments.limit, "--limit", least=1, default=PAGE_LIMIT),
        offset=number_of(arguments.offset, "--offset", least=0, default=0),
    )


def number_of(text: str | None, flag: str, *, least: int, default: int) -> int:
    """Return the whole number that a flag was given.

    Raises:
        UsageError: it is none, or below ``least``.
    """
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
        raise UsageError(f"{flag} takes a whole number from {least} on", key=flag)
    return int(text)


def with_store(
    arguments: argparse.Namespace, work: Callable[[Store], Coroutine[object, object, _T]]
) -> _T:
    """Do ``work`` with the store that the flags name; raises as `stores.opened`, and what it does.

    Raises:
        KeyboardInterrupt: a signal cancelled it.
    """

    async def opened() -> _T:
        async with stores.opened(
            config_path=arguments.config,
            state_dir=arguments.state_dir,
            root_dir=arguments.root_dir,
            nats_context=arguments.nats_context,
            environ=os.environ,
        ) as store:
            return await work(store)

    return run_one_shot(opened())


def directory_of(arguments: argparse.Namespace) -> Path | None:
    """Return where the sessions' files are; ``None`` for a backend without any."""
    return stores.session_directory(
        config_path=arguments.config,
        state_dir=arguments.state_dir,
        root_dir=arguments.root_dir,
        environ=os.environ,
    )


def command_of(words: Sequence[str], arguments: argparse.Namespace) -> str:
    """Return a command to type, with the flags that make it look at the same store."""
    typed = [arguments.nats_context] if words[0] == "session" else []
    there = [word for name in typed if name for word in ("--nats-context", name)]
    return command_line(
        ("fisk-ai", *words, *there),
        ("--config", arguments.config),
        ("--state-dir", arguments.state_dir),
        ("--root-dir", arguments.root_dir),
        here=_is_store_here(arguments),
    )


def _is_store_here(arguments: argparse.Namespace) -> bool:
    """Whether the store's place starts where we are, as a configuration alone can wish."""
    if not arguments.config or arguments.state_dir or arguments.root_dir:
        return False
    directory = directory_of(arguments)
    return directory is not None and not directory.is_absolute()
