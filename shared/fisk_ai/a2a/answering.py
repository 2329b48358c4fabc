"""The caller's side of a question: ask a person beside the reading, then deliver the answer.

A decision is never lost: one that was not delivered is handed back, in the form in which a later
request can carry it. Only a refusal, or nobody there, says that it was not; after anything else it
may have been taken, and it is handed back only when the run parked with its call still open.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fisk_ai.a2a.header import ChoiceWord
from fisk_ai.a2a.hooks import TaskHooks
from fisk_ai.a2a.messages import (
    Ack,
    Answer,
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
    ElicitRequestSelect,
    ElicitWaiting,
    ErrorTerminal,
    HeaderFields,
    Terminal,
)
from fisk_ai.errors import (
    FiskError,
    MessageTooLargeError,
    NoRespondersError,
    ServiceRefusedError,
)

Given = str | bool | int | None
"""What a person said: ``no``/``once``/``always``, a yes or no, an option's position, or a text.

``None``, a negative position and anything that does not fit the question say that nobody decided.
"""

NOT_OURS = "403"
"""The status of a decision that is the agent's operator's: it does not count later either."""

_NOT_DELIVERED = (NoRespondersError, ServiceRefusedError, MessageTooLargeError)
_PARKED = frozenset({"suspended", "deferred"})

_CHOICES: dict[str, ChoiceWord] = {"no": "no", "once": "once", "always": "always"}

Ask = Callable[[AnyQuestion], Awaitable[Given]]
Deliver = Callable[[AnyElicitReply], Awaitable[Ack]]


@dataclass(slots=True)
class _Open:
    asking: bool = True


def reply_to(question: AnyQuestion, given: Given, header: HeaderFields) -> AnyAnswer:
    """Return the message that carries ``given`` as the answer to ``question``."""
    name = question.question_id
    if isinstance(question, ElicitRequestApprove):
        choice = _CHOICES.get(given) if isinstance(given, str) else None
        if choice is not None:
            return ElicitReplyApprove(**header, question_id=name, choice=choice)
    elif isinstance(question, ElicitRequestConfirm):
        if isinstance(given, bool):
            return ElicitReplyConfirm(**header, question_id=name, confirmed=given)
    elif isinstance(question, ElicitRequestSelect):
        if isinstance(given, int) and 0 <= given < len(question.options):
            return ElicitReplySelect(**header, question_id=name, index=given)
    elif isinstance(given, str):
        return ElicitReplyInput(**header, question_id=name, value=given)
    return ElicitReplyNoOperator(**header, question_id=name)


def late_answer(question: AnyQuestion, reply: AnyAnswer) -> Answer | None:
    """Return ``reply`` as a later request carries it; ``None`` when it decides nothing."""
    call = question.tool_use_id
    if not call:
        return None
    if isinstance(reply, ElicitReplyApprove) and isinstance(question, ElicitRequestApprove):
        return Answer(
            tool_use_id=call,
            kind="approve",
            answer="choice",
            choice=reply.choice,
            args_sha256=question.args_sha256,
        )
    if isinstance(reply, ElicitReplyConfirm):
        return Answer(
            tool_use_id=call, kind="confirm", answer="confirmed", confirmed=reply.confirmed
        )
    if isinstance(reply, ElicitReplySelect) and isinstance(question, ElicitRequestSelect):
        option = question.options[reply.index]
        return Answer(tool_use_id=call, kind="select", answer="value", value=option)
    if isinstance(reply, ElicitReplyInput):
        return Answer(tool_use_id=call, kind="input", answer="value", value=reply.value)
    return None


class Answering:
    """The open questions of one task."""

    def __init__(
        self, ask: Ask, deliver: Deliver, *, header: Callable[[], HeaderFields], hooks: TaskHooks
    ) -> None:
        """``ask`` reaches the person, ``deliver`` the agent; ``header`` stamps one message."""
        self._ask = ask
        self._deliver = deliver
        self._header = header
        self._hooks = hooks
        self._open: dict[asyncio.Task[None], _Open] = {}
        self._failed: list[BaseException] = []
        self._unsent: list[Answer] = []
        self._unknown: list[Answer] = []
        self._done: set[str] = set()
        self.closed_at = 0.0

    @property
    def open(self) -> bool:
        """Whether a person is being asked, or an answer is under way."""
        return bool(self._open)

    def start(self, question: AnyQuestion) -> None:
        """Put ``question`` to the person, beside whatever else goes on."""
        state = _Open()
        task = asyncio.create_task(self._answer(question, state), name="answer a question")
        self._open[task] = state
        task.add_done_callback(self._close)

    def settled(self, call: str) -> None:
        """Note that ``call`` has a result: whatever was answered about it is of no use any more."""
        self._done.add(call)

    async def finish(self, terminal: Terminal | None = None) -> tuple[Answer, ...]:
        """Stop asking, let answers under way arrive, and return those to send again.

        Without a ``terminal`` the set broke off, and the run may still use what may have arrived.

        Raises:
            BaseException: whatever asking the person raised.
        """
        for task, state in tuple(self._open.items()):
            if state.asking:
                task.cancel()
        if self._open:
            await asyncio.wait(tuple(self._open))
        if self._failed:
            raise self._failed[0]
        is_parked = isinstance(terminal, ErrorTerminal) and terminal.code in _PARKED
        again = (*self._unsent, *(self._unknown if is_parked else ()))
        return tuple(answer for answer in again if answer.tool_use_id not in self._done)

    async def stop(self) -> None:
        """Cancel whatever is left; for a reading that ends with an error of its own."""
        left = tuple(self._open)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    def _close(self, task: asyncio.Task[None]) -> None:
        del self._open[task]
        self.closed_at = asyncio.get_running_loop().time()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed.append(error)

    async def _answer(self, question: AnyQuestion, state: _Open) -> None:
        answered = held = False
        try:
            given = await self._asked(question)
            state.asking = False
            reply = reply_to(question, given, self._header())
            answered = not isinstance(reply, ElicitReplyNoOperator)
            held = await self._hand_over(question, reply)
        finally:
            await self._hooks.settled(question, answered=answered, held=held)

    async def _hand_over(self, question: AnyQuestion, reply: AnyAnswer) -> bool:
        """Deliver ``reply``; ``True`` says that it is kept because that may not have worked."""
        try:
            await self._deliver(reply)
        except _NOT_DELIVERED as exc:
            if isinstance(exc, ServiceRefusedError) and exc.status == NOT_OURS:
                return False
            return self._keep(self._unsent, late_answer(question, reply))
        except FiskError:
            return self._keep(self._unknown, late_answer(question, reply))
        return False

    def _keep(self, kept: list[Answer], late: Answer | None) -> bool:
        if late is None:
            return False
        kept.append(late)
        return True

    async def _asked(self, question: AnyQuestion) -> Given:
        await self._hooks.asked(question)
        waiting = asyncio.create_task(self._keep_open(question), name="keep a question open")
        try:
            return await self._ask(question)
        finally:
            waiting.cancel()
            await asyncio.wait((waiting,))

    async def _keep_open(self, question: AnyQuestion) -> None:
        if not question.wait_ms:
            return
        name = question.question_id
        with contextlib.suppress(FiskError):
            while True:
                await asyncio.sleep(question.wait_ms / 3000)
                await self._deliver(ElicitWaiting(**self._header(), question_id=name))
