"""A sink that remembers and a prompter that answers from a list, for tests of agents.

Both are written with public names alone, as an embedder's own would be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from fisk_ai.agent.events import LlmRequestEvent, Starting, ToolCallEvent, ToolResultEvent
from fisk_ai.llm.model import Delta, Response
from fisk_ai.toolkit.contract import Advisory
from fisk_ai.toolkit.prompter import Choice, GateRequest

EventName = Literal[
    "warn",
    "starting",
    "llm_request",
    "delta",
    "message",
    "tool_call",
    "tool_result",
    "session_rotated",
    "panicked",
]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One event: the sink's method and what it was given."""

    name: EventName
    payload: object
    terminal: bool = False


@dataclass(slots=True)
class RecordingEvents:
    """Keeps every event in order; ``deltas`` says whether fragments are wanted."""

    deltas: bool = False
    recorded: list[Recorded] = field(default_factory=list[Recorded])

    def names(self) -> list[EventName]:
        """Return the names of all events, in order."""
        return [event.name for event in self.recorded]

    def of(self, kind: type[_T]) -> list[_T]:
        """Return the payloads of one type, in order."""
        return [event.payload for event in self.recorded if isinstance(event.payload, kind)]

    def warnings(self) -> list[str]:
        """Return the kinds of all advisories, in order."""
        return [advisory.kind for advisory in self.of(Advisory)]

    async def warn(self, advisory: Advisory) -> None:
        """Keep it."""
        self.recorded.append(Recorded("warn", advisory))

    async def starting(self, info: Starting) -> None:
        """Keep it."""
        self.recorded.append(Recorded("starting", info))

    async def llm_request(self, event: LlmRequestEvent) -> None:
        """Keep it."""
        self.recorded.append(Recorded("llm_request", event))

    async def delta(self, delta: Delta) -> None:
        """Keep it."""
        self.recorded.append(Recorded("delta", delta))

    def wants_deltas(self) -> bool:
        """Say what was chosen at construction."""
        return self.deltas

    async def message(self, response: Response, *, terminal: bool) -> None:
        """Keep it."""
        self.recorded.append(Recorded("message", response, terminal))

    async def tool_call(self, event: ToolCallEvent) -> None:
        """Keep it."""
        self.recorded.append(Recorded("tool_call", event))

    async def tool_result(self, event: ToolResultEvent) -> None:
        """Keep it."""
        self.recorded.append(Recorded("tool_result", event))

    async def session_rotated(self, previous: str) -> None:
        """Keep the id of the session that was left."""
        self.recorded.append(Recorded("session_rotated", previous))

    async def panicked(self, error: BaseException, stack: str) -> None:
        """Keep the error; a stack differs with every run."""
        self.recorded.append(Recorded("panicked", error))


Scripted = Choice | bool | int | str | Exception
"""One answer: what the matching question returns, or what it raises."""


class ScriptedPrompter:
    """Answers questions from a list and keeps them; a question beyond the list is an error.

    ``present`` says whether anybody can be asked at all.
    """

    def __init__(self, answers: Iterable[Scripted] = (), *, present: bool = True) -> None:
        """Take the answers in the order they will be given."""
        self._answers = deque(answers)
        self._present = present
        self.approvals: list[GateRequest] = []
        self.questions: list[str] = []

    def can_prompt(self) -> bool:
        """Say whether anybody is there."""
        return self._present

    async def approve(self, request: GateRequest) -> Choice:
        """Keep ``request`` and give the next answer."""
        self.approvals.append(request)
        answer = self._next(str)
        if answer == "once" or answer == "always":  # noqa: PLR1714 - the comparison narrows the type
            return answer
        return "no"

    async def confirm(self, tool_use_id: str, question: str) -> bool:
        """Keep ``question`` and give the next answer."""
        self.questions.append(question)
        return self._next(bool)

    async def select(self, tool_use_id: str, question: str, options: Sequence[str]) -> int:
        """Keep ``question`` and give the next answer."""
        self.questions.append(question)
        return self._next(int)

    async def input(self, tool_use_id: str, question: str, default: str) -> str:
        """Keep ``question`` and give the next answer."""
        self.questions.append(question)
        return self._next(str)

    def _next(self, kind: type[_T]) -> _T:
        if not self._answers:
            raise AssertionError("a question was asked that no answer was scripted for")
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, kind):
            raise AssertionError(f"the scripted answer {answer!r} is no {kind.__name__}")
        return answer
