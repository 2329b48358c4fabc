"""How a task ends for its caller, how long the caller waits, and what it does meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fisk_ai.a2a.answering import Given
from fisk_ai.a2a.messages import Ack, Answer, AnyQuestion, EventBlock, Terminal
from fisk_ai.errors import IncompleteStreamError


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """How long a caller waits, in seconds.

    ``idle_s`` bounds silence until the agent was seen to send keepalives, ``live_idle_s`` from
    then on; in a set without events ``idle_s`` bounds the whole task. ``probe_s`` is the silence
    after which the worker is asked whether it is there; it is asked as well ``return_s`` after a
    lost broker came back, for the terminal may be among what was lost. ``refusal_s`` waits for the
    terminal behind a refusal, ``lost_s`` for one under way from a worker that is gone, and
    ``control_s`` for the reply to a cancel, an answer or a probe.
    """

    first_message_s: float = 10.0
    probe_s: float = 30.0
    return_s: float = 5.0
    idle_s: float = 600.0
    live_idle_s: float = 60.0
    refusal_s: float = 2.0
    lost_s: float = 2.0
    control_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnd:
    """How a task ended.

    ``token`` continues the conversation and is empty when the agent gave none; ``gaps`` counts
    messages that never came; ``unsent`` holds decisions for a later request.
    """

    terminal: Terminal
    token: str = ""
    gaps: int = 0
    unsent: tuple[Answer, ...] = ()


class IncompleteTaskError(IncompleteStreamError):
    """A reply set broke off: the run may go on. Carries what a caller needs to look again."""

    def __init__(
        self, message: str, *, token: str = "", gaps: int = 0, unsent: tuple[Answer, ...] = ()
    ) -> None:
        """Keep what was known when the set broke off."""
        super().__init__(message)
        self.token = token
        self.gaps = gaps
        self.unsent = unsent


class TaskHandlers(Protocol):
    """What a caller does with a reply set; called in order, but for questions.

    An error that one of them raises ends the reading and reaches the caller of ``run``.
    """

    async def on_ack(self, ack: Ack) -> None:
        """The request was taken, or refused; keep ``conversation_token`` from here."""
        ...

    async def on_event(self, block: EventBlock) -> None:
        """Something happened; an unknown block shows nothing."""
        ...

    async def on_question(self, question: AnyQuestion) -> Given:
        """Ask a person, beside the reading; cancelled when the task ends meanwhile."""
        ...

    async def on_gap(self, missed: int) -> None:
        """``missed`` messages of the set never arrived."""
        ...
