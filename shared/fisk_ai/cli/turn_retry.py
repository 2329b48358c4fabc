"""``fisk-ai turn retry``: turns that were set aside, put into their queue once more."""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.a2a.durable import publishing
from fisk_ai.a2a.durable.dead import DeadTurn
from fisk_ai.a2a.durable.retrying import buried_turn, once_more
from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.cli.turn_place import TurnPlace, at_place, parser_of, shown
from fisk_ai.cli.turn_session import state_of
from fisk_ai.errors import ProtocolError, UsageError


def retry(argv: Sequence[str]) -> int:
    """Publish the turns that the arguments name; a letter goes once its turn is stored."""
    parser = parser_of("retry", "Put turns that were set aside into their queue once more.")
    parser.add_argument("turns", nargs="+", metavar="turn", help="the turns' names, as ls shows")
    arguments = parser.parse_args(argv)
    at_place(arguments, lambda place: _retry(place, arguments.turns))
    return 0


async def _retry(place: TurnPlace, names: Sequence[str]) -> None:
    for letter in await place.named(names):
        turn = await _once_more(place, letter)
        await publishing.publish(place.js, turn)
        await place.drop(letter)
        print(f"retried {shown(letter.event)} as {shown(turn.event)}")


async def _once_more(place: TurnPlace, letter: DeadTurn) -> Turn:
    if place.config is None:
        raise UsageError(
            "retry looks into the session of a turn: name the agent's configuration with --config",
            key="--config",
        )
    try:
        turn = buried_turn(letter, place.identity)
        state = await state_of(place.config, turn)
        taken = state is not None and turn.message.request in state.requests
        return once_more(turn, taken=taken)
    except ProtocolError as exc:
        raise UsageError(
            f'turn "{shown(letter.event)}" cannot be retried: {exc}; drop it', key="turn"
        ) from exc
