"""Which subject carries what. A part that could be anything but one plain token yields none."""

from __future__ import annotations

from fisk_ai.a2a.header import REQUEST_MAX
from fisk_ai.errors import ProtocolError
from fisk_ai.text.ids import valid_session_id, valid_token

_ROOT = "choria.fisk-ai"

IDENTITY_MAX = 128
"""Characters of an identity: with it every subject is far below the 4096 bytes of a line."""


def task(identity: str) -> str:
    """Return where prompts, answers, resumes and reads go.

    Raises:
        ProtocolError: ``identity`` can be no part of a subject. So do the functions below.
    """
    return f"{_ROOT}.task.{_agent(identity)}"


def discovery(identity: str) -> str:
    """Return where an agent's card is asked for."""
    return f"{_ROOT}.discovery.{_agent(identity)}"


def tool(identity: str) -> str:
    """Return where single tools of an agent are called."""
    return f"{_ROOT}.tool.{_agent(identity)}"


def cancel(identity: str, request: str) -> str:
    """Return where the running task ``request`` is stopped."""
    return f"{_ROOT}.cancel.{_agent(identity)}.{_tag(request)}"


def elicit(identity: str, request: str) -> str:
    """Return where the questions of the running task ``request`` are answered."""
    return f"{_ROOT}.elicit.{_agent(identity)}.{_tag(request)}"


def session(identity: str, session_id: str) -> str:
    """Return where the process that holds a session answers for it; for operators alone.

    Raises:
        ProtocolError: as above, or ``session_id`` can name no session.
    """
    if not valid_session_id(session_id):
        raise ProtocolError(f"{session_id[:140]!r} can name no session")
    return f"fisk.session.{_agent(identity)}.{session_id}"


def operator(identity: str) -> str:
    """Return where operators decide about sessions that nobody holds."""
    return f"fisk.operator.{_agent(identity)}"


def turn(identity: str, channel: str) -> str:
    """Return where the durable turns of a channel wait."""
    return f"{_ROOT}.turn.{_agent(identity)}.{_part('channel', channel)}"


def reply(identity: str, channel: str, thread: str, request: str) -> str:
    """Return where the reply set of one durable turn is kept."""
    return f"{_thread(identity, channel, thread)}.{_tag(request)}"


def replies_of_thread(identity: str, channel: str, thread: str) -> str:
    """Return the subjects of all reply sets of a thread."""
    return f"{_thread(identity, channel, thread)}.*"


def replies_of_channel(identity: str, channel: str) -> str:
    """Return the subjects of all reply sets of a channel."""
    return f"{_ROOT}.reply.{_agent(identity)}.{_part('channel', channel)}.>"


def delta(identity: str, channel: str, thread: str, request: str) -> str:
    """Return where the fragments of one durable turn pass by; nobody keeps them."""
    base = f"fisk.delta.{_agent(identity)}.{_part('channel', channel)}"
    return f"{base}.{_part('thread', thread)}.{_tag(request)}"


def dead(identity: str, channel: str) -> str:
    """Return where turns are kept that were given up."""
    return f"{_ROOT}.dead.{_agent(identity)}.{_part('channel', channel)}"


def _thread(identity: str, channel: str, thread: str) -> str:
    base = f"{_ROOT}.reply.{_agent(identity)}.{_part('channel', channel)}"
    return f"{base}.{_part('thread', thread)}"


def _agent(identity: str) -> str:
    if len(identity) > IDENTITY_MAX:
        raise ProtocolError(f"an identity has at most {IDENTITY_MAX} characters")
    return _part("identity", identity)


def _tag(request: str) -> str:
    if len(request) > REQUEST_MAX:
        raise ProtocolError(f"a request tag has at most {REQUEST_MAX} characters")
    return _part("request tag", request)


def _part(what: str, text: str) -> str:
    if not valid_token(text):
        raise ProtocolError(
            f"the {what} {text[:80]!r} can be no part of a subject: use letters, digits, _ and -"
        )
    return text
