"""The agent that a terminal talks to, whoever hosts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from fisk_ai.bus.connection import Connection


@dataclass(frozen=True, slots=True)
class Death:
    """What is gone of the agent, and its exit code, negative for a signal.

    ``silence``: the broker is there and has not answered for too long, which comes to the same.
    ``connection``: it is closed for good, or lacks a right; ``why`` says which.
    """

    process: Literal["broker", "worker", "silence", "connection"]
    status: int = 0
    why: str = ""


class Agent(Protocol):
    """What a conversation needs of its agent.

    ``elsewhere`` says that others host it: its sessions and its log are not here, and it goes on
    without this terminal.
    """

    @property
    def identity(self) -> str:
        """Its name."""
        ...

    @property
    def connection(self) -> Connection:
        """What it is reached over."""
        ...

    @property
    def elsewhere(self) -> bool:
        """Whether it is hosted by others."""
        ...

    @property
    def silence(self) -> str:
        """What to say where nobody answers under its name."""
        ...

    async def died(self) -> Death:
        """Wait until something is gone without which no run ends, and say what."""
        ...

    def last_words(self) -> Sequence[str]:
        """Return what its log says of a crash, as far as it can be had."""
        ...
