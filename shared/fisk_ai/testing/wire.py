"""Where a reply set publishes to in a test: keeps what was sent, and can lose sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import AnyMessage, EventBlock, EventMessage
from fisk_ai.errors import BusError


@dataclass(slots=True)
class RecordedWire:
    """Records every body and its headers; the sends counted in ``broken``, from 1, fail."""

    broken: set[int] = field(default_factory=set[int])
    attempts: int = 0
    bodies: list[bytes] = field(default_factory=list[bytes])
    headers: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])

    async def publish(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Take one message.

        Raises:
            BusError: this send was to fail.
        """
        self.attempts += 1
        if self.attempts in self.broken:
            raise BusError("the broker is away")
        self.bodies.append(body)
        self.headers.append(headers)

    def messages(self) -> list[AnyMessage]:
        """Return what arrived."""
        return [codec.decode(body) for body in self.bodies]

    def blocks(self) -> list[EventBlock]:
        """Return the blocks of the events that arrived."""
        return [each.block for each in self.messages() if isinstance(each, EventMessage)]
