"""How a command line is read: parsers that raise instead of exiting, and what a flag remembers.

A flag that nobody typed is ``None``, so that a refusal can tell what a person meant from what an
exported variable happens to say. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import NoReturn

from fisk_ai.errors import UsageError

_OFF = frozenset({"", "0", "f", "false", "n", "no", "off"})
"""Spellings with which an exported twin of a boolean flag says no."""


class BadArgumentsError(UsageError):
    """The arguments do not parse; ``usage`` is what to print below the message."""

    def __init__(self, message: str, *, usage: str) -> None:
        """Keep the usage text beside the message."""
        super().__init__(message)
        self.usage = usage


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose refusals are errors of ours, with exit code 1 like all others."""

    def __init__(self, prog: str, description: str) -> None:
        """Read no abbreviation: a flag added later must not change what an old script means."""
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            BadArgumentsError: always.
        """
        raise BadArgumentsError(message, usage=self.format_usage())

    def switch(self, flag: str, text: str) -> None:
        """Add a boolean flag: ``True`` when typed, ``None`` otherwise, never negatable."""
        self.add_argument(flag, action="store_const", const=True, default=None, help=text)

    def value(self, flag: str, metavar: str, text: str) -> None:
        """Add a flag that takes one value; ``None`` when it was not typed."""
        self.add_argument(flag, metavar=metavar, default=None, help=text)


def exported(environ: Mapping[str, str], name: str) -> bool:
    """Say whether the boolean variable ``name`` is on; an odd spelling never fails a command."""
    return environ.get(name, "").strip().lower() not in _OFF


def split_verb(argv: Sequence[str], valued: frozenset[str]) -> tuple[str | None, list[str]]:
    """Find the first word that is neither a flag nor the value of one in ``valued``.

    Returns:
        The word, ``None`` when there is none, and the arguments without it.
    """
    skip = False
    for index, word in enumerate(argv):
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif not word.startswith("-"):
            return word, [*argv[:index], *argv[index + 1 :]]
    return None, list(argv)
