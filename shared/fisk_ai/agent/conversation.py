"""The conversation while a run works on it: messages, position, and the batch in hand.

One shape serves a live reply and one found in a journal: the assistant message stands in
``messages``, its calls in ``batch``, and the results join as one user message when all are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fisk_ai.llm.model import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock, text_of
from fisk_ai.sessions.fold import answer_of
from fisk_ai.sessions.records import Deferred
from fisk_ai.sessions.state import PendingTurn, RunState

TRUNCATED = "max_tokens"
PAUSED = "pause_turn"


def calls_of(content: tuple[Block, ...]) -> tuple[ToolUseBlock, ...]:
    """Return the calls among ``content``, in order."""
    return tuple(block for block in content if isinstance(block, ToolUseBlock))


@dataclass(slots=True, kw_only=True)
class Batch:
    """The calls of the newest reply and what answered them so far; settled calls never run."""

    calls: tuple[ToolUseBlock, ...]
    truncated: bool = False
    results: list[ToolResultBlock] = field(default_factory=list[ToolResultBlock])
    deferred: dict[str, Deferred] = field(default_factory=dict[str, Deferred])

    def open_calls(self) -> list[ToolUseBlock]:
        """Return the calls that are neither answered nor deferred, in call order."""
        settled = {result.tool_use_id for result in self.results} | set(self.deferred)
        return [call for call in self.calls if call.id not in settled]

    def open_deferrals(self) -> list[Deferred]:
        """Return the deferrals nobody answered yet, by call id."""
        answered = {result.tool_use_id for result in self.results}
        return [self.deferred[key] for key in sorted(self.deferred) if key not in answered]


@dataclass(slots=True, kw_only=True)
class Conversation:
    """What the model is shown, and where the run stands in it.

    ``iteration`` is the next model call's index over the whole session and ``cap`` the index no
    call may reach. ``text`` is the prose of the last assistant message that had any. ``call_ids``
    and ``has_blank`` (a reply is empty or holds blank prose) are kept up with ``messages``, so
    that an iteration costs the same however long the conversation is.
    """

    messages: list[Message]
    cap: int
    iteration: int = 0
    batch: Batch | None = None
    text: str = ""
    last_stop_reason: str = ""
    failed_attempts: int = 0
    call_ids: set[str] = field(default_factory=set[str])
    has_blank: bool = False

    def __post_init__(self) -> None:
        """Take in what the messages given hold."""
        for message in self.messages:
            self._note(message)

    def reply(self, content: tuple[Block, ...], stop_reason: str) -> None:
        """Append an assistant message and take its calls in hand."""
        message = Message("assistant", content)
        self.messages.append(message)
        self._note(message)
        self.text = text_of(message) or self.text
        self.last_stop_reason = stop_reason
        self.failed_attempts = 0
        calls = calls_of(content)
        self.batch = Batch(calls=calls, truncated=stop_reason == TRUNCATED) if calls else None

    def commit(self, batch: Batch) -> None:
        """Append the batch's results as one user message; the batch is done."""
        self.messages.append(Message("user", tuple(batch.results)))
        self.batch = None

    def prompt(self, content: tuple[Block, ...]) -> None:
        """Append what a person said; a trailing user message takes it in, so roles alternate."""
        self.failed_attempts = 0
        if self.messages and self.messages[-1].role == "user":
            content = self.messages.pop().content + content
        self.messages.append(Message("user", content))

    def sendable(self) -> tuple[Message, ...]:
        """Return what a model is shown: a reply that says nothing is left out, or it is refused.

        The two user messages around such a reply become one.
        """
        if not self.has_blank:
            return tuple(self.messages)
        shown: list[Message] = []
        for message in self.messages:
            content = _said(message) if message.role == "assistant" else message.content
            if message.role == "user" and shown and shown[-1].role == "user":
                content = shown.pop().content + content
            if content:
                shown.append(Message(message.role, content))
        return tuple(shown)

    def _note(self, message: Message) -> None:
        if message.role == "assistant":
            self.call_ids.update(call.id for call in calls_of(message.content))
            says_all = bool(message.content) and _said(message) == message.content
            self.has_blank = self.has_blank or not says_all

    def at_user_boundary(self) -> bool:
        """Say whether the last reply ended its turn, so that the next word is the person's."""
        return (
            self.batch is None
            and self.messages[-1].role == "assistant"
            and self.last_stop_reason != PAUSED
        )


def _said(reply: Message) -> tuple[Block, ...]:
    """Return the blocks of a reply without blank prose, which no provider takes back."""
    return tuple(
        block for block in reply.content if not isinstance(block, TextBlock) or block.text.strip()
    )


def begin(prompt: str, *, cap: int) -> Conversation:
    """Start a conversation with its first prompt."""
    return Conversation(messages=[Message("user", (TextBlock(prompt),))], cap=cap)


def resume(state: RunState, *, cap: int) -> Conversation:
    """Rebuild the conversation a journal holds, its unfinished batch in hand."""
    conversation = Conversation(
        messages=list(state.messages),
        cap=cap,
        iteration=state.next_iteration,
        text=answer_of(state.messages),
        last_stop_reason=state.last_stop_reason,
    )
    if state.pending is not None:
        _take_up(conversation, state.pending)
    conversation.failed_attempts = state.failed_attempts
    return conversation


def _take_up(conversation: Conversation, pending: PendingTurn) -> None:
    conversation.reply(pending.assistant.message.content, pending.assistant.stop_reason)
    if conversation.batch is not None:
        conversation.batch.results = list(pending.results)
        conversation.batch.deferred = dict(pending.deferred)
