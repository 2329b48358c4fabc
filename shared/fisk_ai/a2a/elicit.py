"""Asking the caller of a task, over its reply set, while the run waits.

The first answer to a question wins. Silence is reported as what it is: an approval is aborted, so
that it is asked again when the call is dispatched again, and any other question is deferred,
since its answer can complete the call later. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Protocol

from fisk_ai.a2a.header import ChoiceWord
from fisk_ai.a2a.messages import (
    AnyAnswer,
    AnyElicitReply,
    AnyQuestion,
    ElicitReplyApprove,
    ElicitReplyConfirm,
    ElicitReplyInput,
    ElicitReplyNoOperator,
    ElicitReplySelect,
    ElicitRequestApprove,
    ElicitRequestConfirm,
    ElicitRequestInput,
    ElicitRequestSelect,
    HeaderFields,
    reply_header,
)
from fisk_ai.a2a.pending import Pending, Windows
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.errors import DeferredError, FiskError, PromptAbortedError
from fisk_ai.text.ids import ksuid
from fisk_ai.text.sanitise import clean_surrogates

NO_OPERATOR = "the caller has no operator to answer on its behalf"


class GateQuestion(Protocol):
    """A gated call, as whoever asks about it describes it."""

    @property
    def tool_use_id(self) -> str:
        """The call."""
        ...

    @property
    def command(self) -> str:
        """The command in words."""
        ...

    @property
    def display(self) -> str:
        """The whole sanitised command line."""
        ...

    @property
    def tag(self) -> str:
        """The tag that gates it."""
        ...

    @property
    def args_sha256(self) -> str:
        """The digest of its exact arguments."""
        ...


class CallerPrompter:
    """Asks whoever sent the task."""

    def __init__(
        self,
        reply_set: ReplySet,
        *,
        window_s: float,
        elicit_max_s: float,
        parks: bool = False,
        draining: Callable[[], bool] = lambda: False,
    ) -> None:
        """``draining`` says that the worker ends: no ``waiting`` restarts a window any more.

        ``parks`` says that a call which nobody there can decide waits for an operator.
        """
        self._parks = parks
        self._reply_set = reply_set
        self._windows = Windows(window_s=window_s, elicit_max_s=elicit_max_s)
        self._draining = draining
        self._pending: dict[str, Pending] = {}
        self._questions: dict[str, AnyQuestion] = {}
        self._given_up = False

    def can_prompt(self) -> bool:
        """A caller is there."""
        return True

    def answer(self, reply: AnyElicitReply) -> bool:
        """Deliver a reply; ``False`` when this run does not wait on its question."""
        pending = self._pending.get(reply.question_id)
        return pending is not None and pending.take(reply)

    def open_question(self) -> AnyQuestion | None:
        """Return what the run waits on now; an answered question is none any more."""
        for name, question in self._questions.items():
            if self._pending[name].is_open:
                return question
        return None

    def is_approval(self, question_id: str) -> bool:
        """Say whether that question is open and asks for an approval."""
        return isinstance(self._questions.get(question_id), ElicitRequestApprove)

    def give_up(self) -> None:
        """End every open question as by silence, and every one still to come."""
        self._given_up = True
        for pending in self._pending.values():
            pending.give_up()

    async def approve(self, request: GateQuestion) -> ChoiceWord:
        """Ask whether a gated call may run.

        Raises:
            PromptAbortedError: nobody answered, or nobody there can and the call may wait; ask
                again when the call is dispatched again.
            FiskError: the question could not be sent, or the answer is of another kind.
        """
        reply = await self._ask(
            ElicitRequestApprove(
                **self._header(),
                question_id=ksuid(),
                tool_use_id=request.tool_use_id,
                wait_ms=self._wait_ms(),
                command=_required("command", request.command),
                display=_required("display", request.display),
                tag=clean_surrogates(request.tag),
                args_sha256=request.args_sha256,
            )
        )
        if reply is None:
            raise PromptAbortedError("the approval was not answered")
        if isinstance(reply, ElicitReplyApprove):
            return reply.choice
        if self._parks and isinstance(reply, ElicitReplyNoOperator):
            raise PromptAbortedError("the caller has no operator, so the call waits for another")
        raise _unfit(reply)

    async def confirm(self, tool_use_id: str, question: str) -> bool:
        """Ask a yes-or-no question; raises as :meth:`input`."""
        reply = await self._answered(
            ElicitRequestConfirm(
                **self._header(),
                question_id=ksuid(),
                tool_use_id=tool_use_id,
                wait_ms=self._wait_ms(),
                question=_required("question", question),
            )
        )
        if isinstance(reply, ElicitReplyConfirm):
            return reply.confirmed
        raise _unfit(reply)

    async def select(self, tool_use_id: str, question: str, options: Sequence[str]) -> int:
        """Ask for one of ``options``; raises as :meth:`input`."""
        if not options:
            raise FiskError("a question without options cannot be sent")
        reply = await self._answered(
            ElicitRequestSelect(
                **self._header(),
                question_id=ksuid(),
                tool_use_id=tool_use_id,
                wait_ms=self._wait_ms(),
                question=_required("question", question),
                options=tuple(clean_surrogates(option) for option in options),
            )
        )
        if isinstance(reply, ElicitReplySelect) and reply.index < len(options):
            return reply.index
        raise _unfit(reply)

    async def input(self, tool_use_id: str, question: str, default: str) -> str:
        """Ask for a text.

        Raises:
            DeferredError: nobody answered; the answer may come later.
            FiskError: the question could not be sent, nobody is there to answer, or the answer is
                of another kind.
        """
        reply = await self._answered(
            ElicitRequestInput(
                **self._header(),
                question_id=ksuid(),
                tool_use_id=tool_use_id,
                wait_ms=self._wait_ms(),
                question=_required("question", question),
                default=clean_surrogates(default),
            )
        )
        if isinstance(reply, ElicitReplyInput):
            return reply.value
        raise _unfit(reply)

    async def _answered(self, question: AnyQuestion) -> AnyAnswer:
        reply = await self._ask(question)
        if reply is None:
            raise DeferredError("the question was not answered in time", question.tool_use_id)
        return reply

    async def _ask(self, question: AnyQuestion) -> AnyAnswer | None:
        if self._given_up:
            return None
        # Registered before it is sent: an answer can be faster than the return of the sending.
        pending = self._pending[question.question_id] = Pending(self._windows)
        self._questions[question.question_id] = question
        try:
            await self._reply_set.question(question)
            return await pending.wait(self._draining)
        except asyncio.CancelledError:
            # Of a worker that is told to end at once. The question ends as by silence, so that its
            # run puts down what it waits for; no other cancellation is ours to take.
            if not self._draining():
                raise
            self.give_up()
            return None
        finally:
            del self._pending[question.question_id], self._questions[question.question_id]

    def _header(self) -> HeaderFields:
        return reply_header(self._reply_set.request, self._reply_set.identity)

    def _wait_ms(self) -> int:
        return math.ceil(self._windows.window_s * 1000)


def _required(field: str, text: str) -> str:
    if not text:
        raise FiskError(f"a question with an empty {field} cannot be sent")
    return clean_surrogates(text)


def _unfit(reply: AnyAnswer) -> FiskError:
    if isinstance(reply, ElicitReplyNoOperator):
        return FiskError(NO_OPERATOR)
    return FiskError("the answer does not fit the question that was asked")
