"""A stored turn in words: its thread, and what it asks for."""

from __future__ import annotations

from fisk_ai.a2a import codec
from fisk_ai.a2a.durable import headers
from fisk_ai.a2a.durable.turn import Sent
from fisk_ai.a2a.messages import NAMESPACE, RequestPrompt, protocol_of
from fisk_ai.errors import ProtocolError


def thread_of(sent: Sent) -> str:
    """Return the parts of a thread's name, or the session that stands in its place."""
    try:
        return "/".join(headers.decoded_thread(sent.headers.get(headers.THREAD, "")))
    except ProtocolError:
        return sent.headers.get(headers.SESSION, "")


def caller_of(sent: Sent) -> str:
    """Return who asked, as the gateway says; empty where it does not."""
    try:
        return headers.decoded(headers.CALLER, sent.headers.get(headers.CALLER, ""))
    except ProtocolError:
        return ""


def wish_of(sent: Sent) -> str:
    """Return the prompt of a turn, or its kind in brackets; foreign text either way."""
    try:
        message = codec.decode(sent.body)
    except ProtocolError:
        return "(unreadable)"
    if isinstance(message, RequestPrompt):
        return message.prompt
    return f"({protocol_of(message).removeprefix(f'{NAMESPACE}.').removeprefix('request.')})"
