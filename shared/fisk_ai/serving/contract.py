"""What a channel brings and what it is told: work, outcome, and the abilities of an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from fisk_ai.agent.events import DiscardEvents, EventSink
from fisk_ai.agent.options import Budget, Checkpoint, DeferredCall, Stats
from fisk_ai.errors import FiskError
from fisk_ai.sessions.records import Reason
from fisk_ai.toolkit.prompter import DefaultDenyPrompter, Prompter

DEFAULT_SLOTS = 2
"""Slots of a channel that names no number."""

DONE_TIMEOUT_S = 30.0
"""How long a channel may take to report an outcome; independent of the run's own end."""


class ChannelDoneError(FiskError):
    """The channel will bring no more work."""

    code = "channel_done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a piece of work ended.

    ``text`` is an answer only with ``completed``. ``abandoned`` never started; ``crashed`` is a
    bug of ours whose detail went to the log.
    """

    id: str
    session_id: str = ""
    text: str = ""
    reason: Reason | None = None
    stats: Stats | None = None
    error: Exception | None = None
    rejected: bool = False
    abandoned: bool = False
    crashed: bool = False
    canceled: bool = False
    deferred: tuple[DeferredCall, ...] = ()
    follow_up_taken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who claims to have sent the work; recorded, enforced nowhere."""

    name: str = ""
    verified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One run to do. ``done`` is called exactly once for work that was accepted.

    ``traceparent`` is the caller's span as it claims it: unauthenticated, and perhaps none.
    ``lost`` is set by a channel whose lease on the work is over: another worker may have it, so
    the run is stopped at once, its outcome says ``canceled``, and its channel tells nobody.
    """

    id: str
    done: Callable[[Outcome], Awaitable[None]]
    prompt: str = ""
    context: str = ""
    checkpoint: Checkpoint | None = None
    claimed_by: str = ""
    suspend_requested: Callable[[], bool] = lambda: False
    budget: Budget = field(default_factory=Budget)
    caller: Caller = field(default_factory=Caller)
    events: EventSink = field(default_factory=DiscardEvents)
    prompter: Prompter = field(default_factory=DefaultDenyPrompter)
    human_paced: bool = False
    traceparent: str = ""
    lost: asyncio.Event = field(default_factory=asyncio.Event)


class Channel(Protocol):
    """Produces work and takes outcomes."""

    @property
    def name(self) -> str:
        """A stable label, such as ``a2a/prompts``."""
        ...

    async def next(self) -> Work:
        """Wait for work.

        Raises:
            ChannelDoneError: there will be none.
        """
        ...


@runtime_checkable
class Service(Protocol):
    """Answers requests from its construction on and produces no work."""

    @property
    def name(self) -> str:
        """A stable label, such as ``a2a``."""
        ...

    async def close(self) -> None:
        """Stop answering; idempotent, called as often as the server is released."""
        ...


@runtime_checkable
class Concurrent(Protocol):
    """Says how many of its works may run at once."""

    def concurrency(self) -> int:
        """Return the number of slots; zero or less asks for the default."""
        ...


@runtime_checkable
class Releasable(Protocol):
    """Can stop producing; does not stop what runs."""

    async def close(self) -> None:
        """Stop producing; idempotent; a waiting ``next`` then says that the channel is done."""
        ...


@runtime_checkable
class Faulting(Protocol):
    """Can report one fault, which ends the server."""

    async def fault(self) -> Exception:
        """Wait for the fault."""
        ...


@runtime_checkable
class Unready(Protocol):
    """Can say that it takes nothing for now, which makes its process not ready and ends nothing."""

    def unready(self) -> str:
        """Return why nothing is taken, in words for an operator; empty while it is."""
        ...


@runtime_checkable
class Described(Protocol):
    """Can say at the start how it is reached and what it allows."""

    @property
    def heading(self) -> str:
        """What it does, such as ``Answering prompts over a2a``."""
        ...

    def describe(self) -> Mapping[str, object]:
        """Return facts under short labels, such as ``Workers``; no secret is among them."""
        ...
