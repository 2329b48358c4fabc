"""Make an argparse program an agent's application.

::

    from fisk_ai.adapters.argparse import parse_args, tags

    commands = parser.add_subparsers(required=True)
    tags("ai:confirm")(commands.add_parser("deploy"))
    options = parse_args(parser)  # in place of parser.parse_args()

Without arguments of fisk's own the program behaves as before. Rules:
``docs/reference/adapters.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fisk_ai.adapters.argparse_reading import ParserReader
from fisk_ai.adapters.entry import misused, prepare, told_to_author
from fisk_ai.adapters.tags import tags

__all__ = ["parse_args", "tags"]


def parse_args(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None = None,
    *,
    name: str = "",
    version: str = "",
) -> argparse.Namespace:
    """Parse the program's arguments, or describe it when they are ``--fisk-introspect`` alone.

    ``arguments`` are those of the process unless given; ``name`` is the name of its file. Call it
    before the program does anything: whatever ran before runs under introspection, too.

    A program that is refused, because an agent would misunderstand it, ends with status 1 and one
    sentence on stderr.

    Raises:
        SystemExit: as argparse ends a program, after a description, or with 1 for a refused one.
    """
    with told_to_author():
        if not _is_parser(parser):
            raise misused("parse_args", "argparse", "an argparse.ArgumentParser", parser)
        prepared = prepare(
            lambda called: ParserReader().program(parser, name=called, version=version),
            arguments,
            name=name,
        )
    return parser.parse_args(prepared)


def _is_parser(given: object) -> bool:
    return isinstance(given, argparse.ArgumentParser)
