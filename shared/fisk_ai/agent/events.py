"""What a run tells while it works: facts without wording, sent from the run's own task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fisk_ai.llm.model import Delta, Response
from fisk_ai.toolkit.contract import Advisory, Kind, Presentation


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """The run is set up; ``tools`` counts the application's tools only.

    ``traced`` says that the traffic with the model is written to a trace.
    """

    tools: int
    thinking_enabled: bool
    confirm_tools: int
    confirm_tags: tuple[str, ...]
    session_id: str
    resumed: bool
    no_application: bool
    standing_approvals: tuple[str, ...]
    traced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRequestEvent:
    """A model call begins; ``size_bytes`` are those of all messages as JSON.

    ``preview`` quotes the newest message, so it is for whoever holds the conversation: no log.
    """

    preview: str
    messages: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEvent:
    """A call passed the gate and is about to run."""

    id: str
    name: str
    display: str
    display_short: str
    input: bytes
    present: Presentation
    kind: Kind
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent:
    """A call ended with a result; ``output`` is what the model reads.

    ``tool_s`` are the seconds the tool worked, ``person_s`` those a person took: for the gate, or
    as a whole where the tool itself puts a question.
    """

    call_id: str
    present: Presentation
    kind: Kind
    output: str
    is_error: bool
    tool_s: float = 0.0
    person_s: float = 0.0


class EventSink(Protocol):
    """Receives a run's events, in order, from one task; may never fail a run."""

    async def warn(self, advisory: Advisory) -> None:
        """An advisory was raised."""
        ...

    async def starting(self, info: Starting) -> None:
        """The loop begins."""
        ...

    async def llm_request(self, event: LlmRequestEvent) -> None:
        """A model call begins; sent in verbose runs only."""
        ...

    async def delta(self, delta: Delta) -> None:
        """A fragment of a reply arrived; sent only where :meth:`wants_deltas`."""
        ...

    def wants_deltas(self) -> bool:
        """Say whether fragments are of use."""
        ...

    async def message(self, response: Response, *, terminal: bool) -> None:
        """A whole reply was recorded; ``terminal`` when it ends the turn."""
        ...

    async def tool_call(self, event: ToolCallEvent) -> None:
        """A call is about to run."""
        ...

    async def tool_result(self, event: ToolResultEvent) -> None:
        """A call has its result."""
        ...

    async def session_rotated(self, previous: str) -> None:
        """An interactive run began a new session; ``previous`` is the one it left, parked."""
        ...

    async def panicked(self, error: BaseException, stack: str) -> None:
        """The run crashed; the stack is for a log, never for a peer."""
        ...


class DiscardEvents:
    """Tells nobody."""

    async def warn(self, advisory: Advisory) -> None:
        """Drop it."""

    async def starting(self, info: Starting) -> None:
        """Drop it."""

    async def llm_request(self, event: LlmRequestEvent) -> None:
        """Drop it."""

    async def delta(self, delta: Delta) -> None:
        """Drop it."""

    def wants_deltas(self) -> bool:
        """No."""
        return False

    async def message(self, response: Response, *, terminal: bool) -> None:
        """Drop it."""

    async def tool_call(self, event: ToolCallEvent) -> None:
        """Drop it."""

    async def tool_result(self, event: ToolResultEvent) -> None:
        """Drop it."""

    async def session_rotated(self, previous: str) -> None:
        """Drop it."""

    async def panicked(self, error: BaseException, stack: str) -> None:
        """Drop it."""
