"""A dead letter as a turn once more: under a new event, since the old one has its terminal.

Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import structs

from fisk_ai.a2a.durable.channels import BY_NAME, Channel
from fisk_ai.a2a.durable.dead import DeadTurn
from fisk_ai.a2a.durable.turn import Turn, read, request_of
from fisk_ai.a2a.messages import Cancel, RequestResume, RunRequest, request_header
from fisk_ai.errors import ProtocolError
from fisk_ai.text.ids import ksuid

_NUMBERED: Final = re.compile(r"(?P<event>.+)#(?P<number>[1-9]\d{0,5})", re.ASCII)


def buried_turn(letter: DeadTurn, identity: str) -> Turn:
    """Return the turn in a letter.

    Raises:
        ProtocolError: it is none, and never was.
    """
    channel: Channel | None = BY_NAME.get(letter.channel)
    if channel is None:
        raise ProtocolError("its channel is none that this release knows")
    return read(letter.sent, identity, channel)


def next_event(event: str) -> str:
    """Return the event under which a turn is tried once more."""
    found = _NUMBERED.fullmatch(event)
    return f"{found['event']}#{int(found['number']) + 1}" if found else f"{event}#2"


def once_more(turn: Turn, *, taken: bool) -> Turn:
    """Return ``turn`` under its next event; what a session has ``taken`` only goes on there.

    Raises:
        ProtocolError: it is a cancel, of which nothing is left to do.
    """
    message = turn.message
    if isinstance(message, Cancel):
        raise ProtocolError("it only stopped another turn")
    event = next_event(turn.event)
    again = _resumed(turn, message, event) if taken else _said_again(message, event)
    return Turn(
        identity=turn.identity,
        channel=turn.channel,
        event=event,
        message=again,
        session=turn.session,
        thread=turn.thread,
        caller=turn.caller,
    )


def _said_again(message: RunRequest, event: str) -> RunRequest:
    return structs.replace(message, id=ksuid(), request=request_of(event))


def _resumed(turn: Turn, message: RunRequest, event: str) -> RunRequest:
    header = request_header(
        message.sender,
        turn.identity,
        request=request_of(event),
        conversation=message.conversation,
    )
    return RequestResume(**header, conversation_token=turn.thread_hash)
