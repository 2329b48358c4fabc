"""One durable turn: what a gateway publishes, and what a worker makes of a message of the queue.

The tag of its request is derived from the channel's own event, so that an event that is published
twice names one turn. Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.durable import headers
from fisk_ai.a2a.durable.channels import Channel
from fisk_ai.a2a.messages import (
    Cancel,
    RequestAnswer,
    RequestResume,
    RunRequest,
    Sender,
    protocol_of,
    request_header,
)
from fisk_ai.bus.jetstream import MESSAGE_ID
from fisk_ai.errors import ProtocolError

TurnMessage = RunRequest | Cancel

EVENT_LIMIT: Final = 512
"""Characters of a message id: a channel's event, never a text."""

_DIGITS: Final = 40


class NewerBindingError(ProtocolError):
    """A turn of a later binding; a later worker will know what it means."""

    code = "newer_binding"


def request_of(event: str) -> str:
    """Return the request tag of the turn that the event ``event`` of a channel asks for."""
    return "s" + hashlib.sha256(event.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A request of a thread, in the queue of one agent's channel.

    ``event`` is its message id. ``thread`` names the thread as its channel does; it is empty for
    one that an operator asked for, who knows the ``session`` alone.
    """

    identity: str
    channel: Channel
    event: str
    message: TurnMessage
    session: str
    thread: tuple[str, ...] = ()
    caller: str = ""

    @property
    def thread_hash(self) -> str:
        """The token of its thread in subjects."""
        return self.channel.thread_of(self.session)

    @property
    def reply_subject(self) -> str:
        """Where its reply set is kept."""
        return subjects.reply(
            self.identity, self.channel.name, self.thread_hash, self.message.request
        )

    @property
    def delta_subject(self) -> str:
        """Where the fragments of its text pass by."""
        return subjects.delta(
            self.identity, self.channel.name, self.thread_hash, self.message.request
        )

    def place_headers(self) -> dict[str, str]:
        """Return what says which thread this is of, on the turn and on every reply."""
        binding = {headers.BINDING: str(headers.VERSION)}
        if self.thread:
            return {**binding, headers.THREAD: headers.encoded_thread(self.thread)}
        return {**binding, headers.SESSION: self.session}

    def headers(self) -> dict[str, str]:
        """Return the headers of the turn itself."""
        caller = {headers.CALLER: headers.encoded(self.caller)} if self.caller else {}
        return {MESSAGE_ID: self.event, **self.place_headers(), **caller}


def of_thread(
    identity: str,
    channel: Channel,
    thread: tuple[str, ...],
    *,
    event: str,
    message: TurnMessage,
    caller: str = "",
) -> Turn:
    """Return the turn of a gateway.

    Raises:
        ProtocolError: the thread is none of the channel, or the message not of this event.
    """
    turn = Turn(
        identity=identity,
        channel=channel,
        event=event,
        message=message,
        session=channel.session(identity, thread),
        thread=thread,
        caller=caller,
    )
    return _sound(turn)


def of_session(
    identity: str,
    channel: Channel,
    session: str,
    *,
    event: str,
    message: RequestAnswer | RequestResume,
    caller: str = "",
) -> Turn:
    """Return the turn that a worker publishes for an operator, who knows the session alone.

    Raises:
        ProtocolError: the session is none of the channel, or the message not of this event.
    """
    turn = Turn(
        identity=identity,
        channel=channel,
        event=event,
        message=message,
        session=channel.checked_session(session),
        caller=caller,
    )
    return _sound(turn)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of the turn queue as it came: nothing of it has been believed yet."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def read(sent: Sent, identity: str, channel: Channel) -> Turn:
    """Return the turn that a message of the queue of ``channel`` is.

    Raises:
        NewerBindingError: it is of a later binding.
        MessageTooLargeError, ProtocolError: it is none, or breaks a rule.
    """
    _require_binding(sent.headers)
    message = codec.decode(sent.body, "the turn")
    if not isinstance(message, TurnMessage):
        raise ProtocolError(
            f'a turn is a prompt, an answer, a resume or a cancel, not "{protocol_of(message)}"'
        )
    thread, session = _place(sent.headers, identity, channel)
    caller = sent.headers.get(headers.CALLER, "")
    turn = Turn(
        identity=identity,
        channel=channel,
        event=sent.headers.get(MESSAGE_ID, ""),
        message=message,
        session=session,
        thread=thread,
        caller=headers.decoded(headers.CALLER, caller) if caller else "",
    )
    return _sound(turn)


def place_of(sent: Sent, identity: str, channel: Channel) -> Turn | None:
    """Return as much of a message that is no turn as it takes to tell its thread so.

    ``None`` where the thread or the request cannot be read.
    """
    peeked = codec.peek(sent.body)
    if peeked is None or not peeked.request:
        return None
    try:
        thread, session = _place(sent.headers, identity, channel)
        subjects.reply(identity, channel.name, channel.thread_of(session), peeked.request)
    except ProtocolError:
        return None
    thread_hash = channel.thread_of(session)
    header = request_header(
        Sender(name=channel.name), identity, request=peeked.request, conversation=thread_hash
    )
    return Turn(
        identity=identity,
        channel=channel,
        event="",
        message=RequestResume(**header, conversation_token=thread_hash),
        session=session,
        thread=thread,
    )


def _require_binding(found: Mapping[str, str]) -> None:
    binding = headers.number(found, headers.BINDING)
    if binding > headers.VERSION:
        raise NewerBindingError(
            f"the turn is of binding {binding}, and this release knows {headers.VERSION}"
        )
    if binding < 1:
        raise ProtocolError(f"the header {headers.BINDING} is missing")


def _place(
    found: Mapping[str, str], identity: str, channel: Channel
) -> tuple[tuple[str, ...], str]:
    """Return the thread and the session that the headers name: either of them, never both."""
    named = [name for name in (headers.THREAD, headers.SESSION) if name in found]
    if len(named) != 1:
        raise ProtocolError(
            f"a turn carries one of the headers {headers.THREAD} and {headers.SESSION}"
        )
    if headers.SESSION in found:
        return (), channel.checked_session(found[headers.SESSION])
    thread = headers.decoded_thread(found[headers.THREAD])
    return thread, channel.session(identity, thread)


def _sound(turn: Turn) -> Turn:
    """Return ``turn`` if its parts fit one another; raises ProtocolError."""
    event, message = turn.event, turn.message
    if not event or len(event) > EVENT_LIMIT or not all("!" <= char <= "~" for char in event):
        raise ProtocolError(
            f"the header {MESSAGE_ID} names the event of a turn: 1 to {EVENT_LIMIT} visible"
            " characters of ASCII"
        )
    if not turn.thread and not isinstance(message, RequestAnswer | RequestResume):
        raise ProtocolError(
            f"the header {headers.SESSION} stands on answers and resumes alone, not on"
            f' "{protocol_of(message)}"'
        )
    if not isinstance(message, Cancel) and message.request != request_of(event):
        raise ProtocolError("the request of a turn is derived from its message id, and this is not")
    return turn
