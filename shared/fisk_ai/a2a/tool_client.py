"""Calling one tool of another agent: sent once, read to its reply, never sent again.

Only the reply is an end. Silence leaves it open whether the tool ran, and whoever called is told
so. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

from msgspec import Raw

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.exchange import raise_refusal
from fisk_ai.a2a.messages import Ack, EventMessage, Sender, ToolReply, ToolRequest, request_header
from fisk_ai.bus.connection import Connection, Inbox
from fisk_ai.errors import AgentUnavailableError, IncompleteStreamError, ProtocolError


async def call_tool(
    connection: Connection,
    identity: str,
    sender: str,
    request: tuple[str, bytes],
    *,
    idle_s: float,
) -> ToolReply:
    """Call the tool of ``identity`` that ``request`` names, with the JSON of its arguments.

    ``idle_s`` bounds the silence between two messages of the reply set.

    Raises:
        AgentUnavailableError: nobody answers for the tools of that agent; nothing ran.
        ServiceRefusedError: the request was refused before it was taken; nothing ran.
        IncompleteStreamError: the agent fell silent, or sent what belongs in no such set; whether
            the tool ran is unknown.
        ProtocolError: the request breaks a rule; nothing was sent.
        BusError: the request could not be sent.
    """
    name, arguments = request
    header = request_header(Sender(name=sender), identity)
    try:
        message = ToolRequest(**header, name=name, input=Raw(arguments))
    except ValueError as exc:
        raise ProtocolError(f"the call of {name!r} breaks a rule: {exc}") from exc
    body = codec.encode(message)
    subject = subjects.tool(identity)
    inbox = await connection.open_inbox()
    try:
        await connection.publish_request(subject, body, reply=inbox.subject)
        return await _read(inbox, identity, subject, idle_s)
    finally:
        await inbox.close()


async def _read(inbox: Inbox, identity: str, subject: str, idle_s: float) -> ToolReply:
    while True:
        received = await inbox.next(idle_s)
        if received is None:
            raise IncompleteStreamError(
                f'agent "{identity}" said nothing for {idle_s:g} s; whether the tool ran is unknown'
            )
        if received.no_responders:
            raise AgentUnavailableError(f'no agent serves tools as "{identity}"')
        raise_refusal(subject, received)
        try:
            message = codec.decode(received.body, "the reply")
        except ProtocolError as exc:
            raise IncompleteStreamError(
                f'agent "{identity}" sent what cannot be read: {exc}'
            ) from exc
        if isinstance(message, ToolReply):
            return message
        if not isinstance(message, Ack | EventMessage):
            raise IncompleteStreamError(f'agent "{identity}" sent what belongs in no tool call')
