"""What a caller sends to an agent to get work, to answer for it, and to stop it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import force_setattr

from fisk_ai.a2a.header import (
    NAMESPACE,
    ChoiceWord,
    Count,
    Digest,
    Header,
    Part,
    SessionId,
    Token,
    ToolUseId,
    Value,
)

Kind = Literal["approve", "confirm", "select", "input"]
AnswerField = Literal["choice", "confirmed", "value", "no_operator"]
NonEmpty = Annotated[str, Meta(min_length=1)]
AnsweredCall = Annotated[ToolUseId, Meta(extra_json_schema={"minLength": 1})]
ReplayCount = Annotated[int, Meta(ge=1)]

_FIELD_OF_KIND: dict[Kind, AnswerField] = {
    "approve": "choice",
    "confirm": "confirmed",
    "select": "value",
    "input": "value",
}
_COMPLAINT: dict[Kind, str] = {
    "approve": "an approval is answered with a choice",
    "confirm": "a confirmation is answered with confirmed",
    "select": "a select question is answered with a value",
    "input": "an input question is answered with a value",
}


class Budget(Part, frozen=True, kw_only=True):
    """Bounds a caller asks for; they only ever lower the configured ones. 0 asks nothing."""

    max_tokens: Count = 0
    max_iterations: Count = 0
    call_timeout: str = ""


class Answer(Part, frozen=True, kw_only=True):
    """A decision for a question whose run has ended; it names the call, not the question.

    ``answer`` says which field carries it. A selection names its option's text, since the run
    that offered the list is gone. ``args_sha256`` binds an approval to the arguments shown.
    """

    tool_use_id: AnsweredCall
    kind: Kind
    answer: AnswerField | UnsetType = UNSET
    choice: ChoiceWord | UnsetType = UNSET
    confirmed: bool = False
    value: Value | UnsetType = UNSET
    no_operator: bool = False
    args_sha256: Digest = ""

    def __post_init__(self) -> None:
        """Settle which field answers, and that it is the one its kind takes.

        Raises:
            ValueError: no call is named, or the answer does not fit the kind.
        """
        if not self.tool_use_id:
            raise ValueError("the answer names no tool call")
        answer = self._answer()
        if answer not in (_FIELD_OF_KIND[self.kind], "no_operator"):
            raise ValueError(f'{_COMPLAINT[self.kind]}, not with "{answer}"')
        force_setattr(self, "answer", answer)
        force_setattr(self, "no_operator", answer == "no_operator")

    def _answer(self) -> AnswerField:
        if self.no_operator:
            return "no_operator"
        if self.answer is not UNSET:
            return self.answer
        if self.choice is not UNSET:
            return "choice"
        if self.value is not UNSET:
            return "value"
        return "confirmed"


class TaskRequest(Header, frozen=True, kw_only=True):
    """What the three kinds of request that run something share.

    ``stream`` is true when absent. ``force`` continues a conversation whose configuration
    changed. ``replay`` asks for that many blocks of history first.
    """

    budget: Budget | UnsetType = UNSET
    stream: bool | UnsetType = UNSET
    deltas: bool = False
    force: bool = False

    def wants_stream(self) -> bool:
        """Say whether events are asked for."""
        return self.stream is not False

    def wants_deltas(self) -> bool:
        """Say whether fragments of text are asked for; only beside events."""
        return self.deltas and self.wants_stream()


class RequestPrompt(TaskRequest, frozen=True, kw_only=True, tag=f"{NAMESPACE}.request.prompt"):
    """Run a prompt; with a token as the conversation's next turn, else as its first."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"answer"})

    prompt: NonEmpty
    context: str = ""
    tool_hints: tuple[str, ...] = ()
    conversation_token: Token = ""
    replay: ReplayCount | UnsetType = UNSET


class RequestAnswer(TaskRequest, frozen=True, kw_only=True, tag=f"{NAMESPACE}.request.answer"):
    """Give the answer a conversation still waits for, and let it go on.

    A caller names the conversation by its token, an operator by its session.
    """

    REFUSES: ClassVar[frozenset[str]] = frozenset({"prompt"})
    ONE_OF: ClassVar[tuple[str, ...]] = ("conversation_token", "session")

    conversation_token: Token = ""
    session: SessionId = ""
    answer: Answer
    replay: ReplayCount | UnsetType = UNSET


class RequestResume(TaskRequest, frozen=True, kw_only=True, tag=f"{NAMESPACE}.request.resume"):
    """Let a conversation that stopped part way go on, with no new message; named as above."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"prompt", "answer", "replay"})
    ONE_OF: ClassVar[tuple[str, ...]] = ("conversation_token", "session")

    conversation_token: Token = ""
    session: SessionId = ""


class RequestRead(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.request.read"):
    """Replay a conversation; runs nothing."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"prompt", "answer"})

    conversation_token: Token
    replay: ReplayCount


class Cancel(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.cancel"):
    """Stop a running task at its next boundary; an operator names it by its session."""

    reason: str = ""
    session: SessionId = ""


class DiscoveryRequest(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.discovery.request"):
    """Ask an agent for its card."""


RunRequest = RequestPrompt | RequestAnswer | RequestResume
AnyRequest = RunRequest | RequestRead
