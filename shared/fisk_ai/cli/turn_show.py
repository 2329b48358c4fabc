"""``fisk-ai turn show``: one turn that was set aside, and how its session stands."""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.a2a.durable.dead import DeadTurn
from fisk_ai.a2a.durable.retrying import buried_turn
from fisk_ai.cli.session_json import machine_text, present
from fisk_ai.cli.times import local_time
from fisk_ai.cli.turn_place import TurnPlace, at_place, parser_of, shown
from fisk_ai.cli.turn_session import state_of
from fisk_ai.cli.turn_words import caller_of, thread_of, wish_of
from fisk_ai.errors import FiskError, ProtocolError
from fisk_ai.render.tables import Document
from fisk_ai.render.width import terminal_width
from fisk_ai.text.sanitise import for_display, for_terminal, truncate

PROMPT_LIMIT = 4_000
HEADER_LIMIT = 200
"""Code points of foreign text that are shown."""


def show(argv: Sequence[str]) -> int:
    """Show the turn that the arguments name."""
    parser = parser_of("show", "Show one turn that was set aside.")
    parser.add_argument("turn", help="the turn's name, as ls shows it")
    parser.switch("--json", "print JSON for other programs")
    arguments = parser.parse_args(argv)
    letter, session, status = at_place(arguments, lambda place: _found(place, arguments.turn))
    if arguments.json:
        print(machine_text(_members(letter, session, status)))
    else:
        print(_page(letter, session, status))
    return 0


async def _found(place: TurnPlace, name: str) -> tuple[DeadTurn, str, str]:
    """Return the letter, its session and how that stands; empty where nobody can tell."""
    (letter,) = await place.named([name])
    try:
        turn = buried_turn(letter, place.identity)
    except ProtocolError:
        return letter, "", ""
    if place.config is None:
        return letter, turn.session, ""
    try:
        state = await state_of(place.config, turn)
    except FiskError as exc:
        return letter, turn.session, for_terminal(f"unreadable: {exc}", HEADER_LIMIT)
    return letter, turn.session, state.status if state is not None else "none"


def _page(letter: DeadTurn, session: str, status: str) -> str:
    page = Document(f"Turn {shown(letter.event)}", terminal_width())
    page.item("Channel", shown(letter.channel))
    page.optional("Thread", shown(thread_of(letter.sent)))
    page.optional("Caller", shown(caller_of(letter.sent)))
    page.item("Reason", for_terminal(letter.reason, HEADER_LIMIT) or "none given")
    page.item("Tries", str(letter.tries))
    page.item("When", local_time(letter.time))
    page.optional("Session", session)
    page.optional("Session status", status)
    prompt = truncate(for_display(wish_of(letter.sent)), PROMPT_LIMIT)
    page.section("Headers", _header_lines(letter))
    page.section("Prompt", prompt.split("\n"))
    return page.text()


def _header_lines(letter: DeadTurn) -> list[str]:
    return [
        f"{for_terminal(name, HEADER_LIMIT)}: {for_terminal(value, HEADER_LIMIT)}"
        for name, value in sorted(letter.sent.headers.items())
    ]


def _members(letter: DeadTurn, session: str, status: str) -> dict[str, object]:
    return present(
        turn=letter.event,
        channel=letter.channel,
        thread=thread_of(letter.sent),
        caller=caller_of(letter.sent),
        reason=letter.reason,
        tries=letter.tries or None,
        time=letter.time,
        session=session,
        session_status=status,
        headers=dict(letter.sent.headers),
        prompt=wish_of(letter.sent),
    )
