"""``fisk-ai turn drop``: turns that were set aside, removed by their names or by their age."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fisk_ai.a2a.durable.dead import DeadTurn
from fisk_ai.cli.times import age_ns
from fisk_ai.cli.turn_place import TurnPlace, at_place, parser_of, shown
from fisk_ai.errors import UsageError
from fisk_ai.text import clock


def drop(argv: Sequence[str]) -> int:
    """Remove what the arguments name."""
    parser = parser_of("drop", "Remove turns that were set aside.")
    parser.add_argument("turns", nargs="*", metavar="turn", help="the turns' names, as ls shows")
    parser.value("--older-than", "DURATION", "remove what was set aside longer ago")
    arguments = parser.parse_args(argv)
    if arguments.older_than is not None and arguments.turns:
        raise UsageError(
            "--older-than takes no turns: it goes by age; leave one of the two out",
            key="--older-than",
        )
    if arguments.older_than is None and not arguments.turns:
        parser.error("the following arguments are required: turn")
    if arguments.older_than is None:
        at_place(arguments, lambda place: _drop(place, arguments.turns))
        return 0
    before_ns = time.time_ns() - age_ns(arguments.older_than, "--older-than")
    at_place(arguments, lambda place: _drop_aged(place, before_ns))
    return 0


async def _drop(place: TurnPlace, names: Sequence[str]) -> None:
    for letter in await place.named(names):
        await _dropped(place, letter)


async def _drop_aged(place: TurnPlace, before_ns: int) -> None:
    for letter in await place.letters():
        if clock.rfc3339_ns(letter.time) < before_ns:
            await _dropped(place, letter)


async def _dropped(place: TurnPlace, letter: DeadTurn) -> None:
    await place.drop(letter)
    print(f"dropped {shown(letter.event)}")
