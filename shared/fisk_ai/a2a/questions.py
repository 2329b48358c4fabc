"""What an agent asks its caller while it runs, and how the caller answers."""

from __future__ import annotations

from typing import ClassVar

from fisk_ai.a2a.header import (
    NAMESPACE,
    ChoiceWord,
    Count,
    Digest,
    Header,
    ToolUseId,
    Value,
    Word,
)

_ASK = f"{NAMESPACE}.elicit.request"
_REPLY = f"{NAMESPACE}.elicit.reply"


class Question(Header, frozen=True, kw_only=True):
    """What all questions share.

    ``tool_use_id`` is what a late answer names; ``wait_ms`` is the window in milliseconds, 0 from
    an agent that takes no ``waiting`` messages.
    """

    question_id: Word
    tool_use_id: ToolUseId = ""
    wait_ms: Count = 0


class ElicitRequestApprove(Question, frozen=True, kw_only=True, tag=f"{_ASK}.approve"):
    """May this gated command run? ``args_sha256`` binds the answer to what was shown."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"question", "options", "default"})

    command: str
    display: str
    tag: str = ""
    args_sha256: Digest = ""


class ElicitRequestConfirm(Question, frozen=True, kw_only=True, tag=f"{_ASK}.confirm"):
    """A yes-or-no question."""

    REFUSES: ClassVar[frozenset[str]] = frozenset(
        {"command", "display", "tag", "options", "default"}
    )

    question: str


class ElicitRequestSelect(Question, frozen=True, kw_only=True, tag=f"{_ASK}.select"):
    """A choice among options, answered by position."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"command", "display", "tag", "default"})

    question: str
    options: tuple[str, ...]


class ElicitRequestInput(Question, frozen=True, kw_only=True, tag=f"{_ASK}.input"):
    """A question answered with a text."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"command", "display", "tag", "options"})

    question: str
    default: str = ""


class QuestionReply(Header, frozen=True, kw_only=True):
    """What all answers share."""

    question_id: Word


class ElicitReplyApprove(QuestionReply, frozen=True, kw_only=True, tag=f"{_REPLY}.approve"):
    """Whether the command may run: not, this once, or for the rest of the conversation."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"confirmed", "index", "value"})

    choice: ChoiceWord


class ElicitReplyConfirm(QuestionReply, frozen=True, kw_only=True, tag=f"{_REPLY}.confirm"):
    """Yes or no."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"choice", "index", "value"})

    confirmed: bool


class ElicitReplySelect(QuestionReply, frozen=True, kw_only=True, tag=f"{_REPLY}.select"):
    """The position of the option chosen, from 0."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"choice", "confirmed", "value"})

    index: Count


class ElicitReplyInput(QuestionReply, frozen=True, kw_only=True, tag=f"{_REPLY}.input"):
    """A text; an empty one is an answer."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"choice", "confirmed", "index"})

    value: Value


class ElicitReplyNoOperator(QuestionReply, frozen=True, kw_only=True, tag=f"{_REPLY}.no_operator"):
    """Nobody can be asked there."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"choice", "confirmed", "index", "value"})


class ElicitWaiting(QuestionReply, frozen=True, kw_only=True, tag=f"{NAMESPACE}.elicit.waiting"):
    """A person is still reading: keep the question open for another window."""

    REFUSES: ClassVar[frozenset[str]] = frozenset({"choice", "confirmed", "index", "value"})


AnyQuestion = ElicitRequestApprove | ElicitRequestConfirm | ElicitRequestSelect | ElicitRequestInput
AnyAnswer = (
    ElicitReplyApprove
    | ElicitReplyConfirm
    | ElicitReplySelect
    | ElicitReplyInput
    | ElicitReplyNoOperator
)
AnyElicitReply = AnyAnswer | ElicitWaiting
