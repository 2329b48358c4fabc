"""The points of a task at which code in its caller's process may look, and one where it may act.

Only ``prompt_submit`` changes anything, so only its error stops the task; what any other hook
raises is logged. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import UNSET, UnsetType, structs

from fisk_ai.a2a.messages import (
    Ack,
    AnyQuestion,
    AnyRequest,
    ErrorTerminal,
    RequestPrompt,
    Terminal,
    UsageCounts,
)
from fisk_ai.errors import FiskError

_log = logging.getLogger("fisk_ai.a2a")

T = TypeVar("T")


class PromptDeniedError(FiskError):
    """A hook refused the prompt; nothing was sent."""

    code = "prompt_denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedPrompt:
    """A prompt about to be sent; an empty ``token`` opens a conversation."""

    request: str
    text: str
    context: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitVerdict:
    """What to do with a prompt: refuse it, or send other texts; ``None`` keeps what was written."""

    deny: bool = False
    reason: str = ""
    text: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTaken:
    """An agent took a task; ``max_tokens`` is 0 where nothing bounds the conversation."""

    request: str
    token: str
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRefused:
    """An agent refused a task."""

    request: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSettled:
    """A question is over for its caller.

    ``answered`` says that a person decided; ``held`` that the decision was not delivered for sure
    and may have to be sent in a later request.
    """

    question: AnyQuestion
    answered: bool
    held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOver:
    """An accepted task ended; without a terminal ``error`` says what ended its reading."""

    request: str
    token: str
    code: str = ""
    stop_reason: str = ""
    usage: UsageCounts | UnsetType = UNSET
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested:
    """A cancel is about to be sent."""

    request: str
    reason: str


Hook = Callable[[T], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHooks:
    """The hooks of a client; ``None`` where there is nothing to do. Tasks may fire concurrently."""

    prompt_submit: Callable[[SubmittedPrompt], Awaitable[SubmitVerdict | None]] | None = None
    conversation_start: Hook[TaskTaken] | None = None
    conversation_resume: Hook[TaskTaken] | None = None
    turn_accepted: Hook[TaskTaken] | None = None
    turn_refused: Hook[TaskRefused] | None = None
    question_asked: Hook[AnyQuestion] | None = None
    question_answered: Hook[QuestionSettled] | None = None
    turn_end: Hook[TaskOver] | None = None
    cancel_requested: Hook[CancelRequested] | None = None


async def submitted(hooks: ClientHooks, request: AnyRequest) -> AnyRequest:
    """Return ``request`` as it is to be sent.

    Raises:
        PromptDeniedError: the hook refused the prompt. Whatever the hook raises is passed on.
    """
    if hooks.prompt_submit is None or not isinstance(request, RequestPrompt):
        return request
    verdict = await hooks.prompt_submit(
        SubmittedPrompt(
            request=request.request,
            text=request.prompt,
            context=request.context,
            token=request.conversation_token,
        )
    )
    if verdict is None:
        return request
    if verdict.deny:
        raise PromptDeniedError(f"prompt denied: {verdict.reason or 'a hook refused it'}")
    return structs.replace(
        request,
        prompt=request.prompt if verdict.text is None else verdict.text,
        context=request.context if verdict.context is None else verdict.context,
    )


async def tell(hook: Hook[T] | None, fact: T) -> None:
    """Fire a hook that changes nothing; its error is logged."""
    if hook is None:
        return
    try:
        await hook(fact)
    except Exception:  # noqa: BLE001 - code of an embedder; only prompt_submit may stop a task
        _log.exception("a client hook failed on %s", type(fact).__name__)


@dataclass(slots=True)
class TaskHooks:
    """The hooks of one task, in the order of its exchange."""

    hooks: ClientHooks
    request: AnyRequest
    _token: str = field(default="", init=False)
    _accepted: bool = field(default=False, init=False)

    async def acknowledged(self, ack: Ack) -> None:
        """Tell of the first word of the agent."""
        if not ack.accepted:
            refused = TaskRefused(request=self.request.request, reason=ack.reason)
            await tell(self.hooks.turn_refused, refused)
            return
        if self._accepted:
            return
        self._accepted, self._token = True, ack.conversation_token
        taken = TaskTaken(
            request=self.request.request, token=self._token, max_tokens=ack.max_tokens
        )
        if self.request.conversation_token:
            await tell(self.hooks.conversation_resume, taken)
        elif self._token:
            await tell(self.hooks.conversation_start, taken)
        await tell(self.hooks.turn_accepted, taken)

    async def asked(self, question: AnyQuestion) -> None:
        """Tell that a person is about to be asked."""
        await tell(self.hooks.question_asked, question)

    async def settled(self, question: AnyQuestion, *, answered: bool, held: bool) -> None:
        """Tell what became of a question."""
        fact = QuestionSettled(question=question, answered=answered, held=held)
        await tell(self.hooks.question_answered, fact)

    async def ended(self, terminal: Terminal) -> None:
        """Tell how an accepted task ended."""
        code = terminal.code if isinstance(terminal, ErrorTerminal) else ""
        await self._over(
            TaskOver(
                request=self.request.request,
                token=self._token,
                code=code,
                stop_reason=terminal.stop_reason,
                usage=terminal.usage,
            )
        )

    async def broke_off(self, error: BaseException) -> None:
        """Tell that the reading of an accepted task ended without its terminal."""
        fact = TaskOver(request=self.request.request, token=self._token, error=error)
        await self._over(fact)

    async def _over(self, fact: TaskOver) -> None:
        if self._accepted:
            await tell(self.hooks.turn_end, fact)
