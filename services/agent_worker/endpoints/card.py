"""The agent's card: built once when a worker starts, and handed to whoever asks for it."""

from __future__ import annotations

from agent_worker.requests import read_only
from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.cards import Card
from fisk_ai.a2a.messages import (
    NAMESPACE,
    DiscoveryReply,
    DiscoveryRequest,
    reply_header,
)
from fisk_ai.bus.messages import Inbound
from fisk_ai.bus.service import Service
from fisk_ai.errors import MessageTooLargeError, ProtocolError

_WANTED = f"{NAMESPACE}.discovery.request"


class CardEndpoint:
    """Answers with one card."""

    def __init__(self, card: Card) -> None:
        """Hand out ``card``, which names the agent."""
        self._card = card

    async def start(self, service: Service) -> None:
        """Register the endpoint.

        Raises:
            BusError: the broker did not take it.
        """
        subject = subjects.discovery(self._card["name"])
        await service.add_endpoint("discovery", subject, self._answer)

    async def _answer(self, inbound: Inbound) -> None:
        message = await read_only(inbound, DiscoveryRequest, _WANTED, _refusal)
        if message is None:
            return
        header = reply_header(message, self._card["name"])
        await inbound.respond(codec.encode(DiscoveryReply(**header, **self._card)))


def _refusal(error: ProtocolError) -> str:
    """Word a refusal as readers of this endpoint know it."""
    if isinstance(error, MessageTooLargeError):
        return f"request exceeds {codec.MESSAGE_LIMIT} bytes"
    return f"invalid request: {error}"
