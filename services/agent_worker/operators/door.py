"""The door of a session that this process holds: who runs it, stopped and answered at once.

Nothing here takes a slot or reads a journal: the run that waits for an answer may hold the only
one. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import logging

from msgspec import UNSET

from agent_worker.operators.runs import Runs
from agent_worker.requests import read
from fisk_ai.a2a import codec, deciding
from fisk_ai.a2a.messages import (
    NAMESPACE,
    Ack,
    AnyMessage,
    Cancel,
    OperatorState,
    OperatorStatus,
    RequestAnswer,
    RequestResume,
    protocol_of,
    reply_header,
)
from fisk_ai.bus.messages import Inbound
from fisk_ai.errors import ProtocolError
from fisk_ai.text.sanitise import quoted

_log = logging.getLogger("agent_worker.operators")

WANTED = ", ".join(
    f"{NAMESPACE}.{kind}"
    for kind in ("operator.status", "cancel", "request.answer", "request.resume")
)


class Door:
    """Serves the door of every session that is held here."""

    def __init__(self, identity: str, runs: Runs) -> None:
        self._identity = identity
        self._runs = runs

    async def __call__(self, session: str, inbound: Inbound) -> None:
        """Serve one message about the held ``session``."""
        message = await read(inbound, "the message")
        if message is None:
            return
        if not isinstance(message, OperatorStatus | Cancel | RequestAnswer | RequestResume):
            await inbound.refuse("400", unwanted(message))
            return
        by_name = isinstance(message, RequestAnswer | RequestResume)
        if message.session != session and (by_name or message.session):
            await inbound.refuse("400", f'the message is not of session "{session}"')
            return
        match message:
            case OperatorStatus():
                await inbound.respond(codec.encode(self._state(session, message)))
            case Cancel():
                await self._cancel(session, inbound, message)
            case RequestAnswer():
                await self._answer(session, inbound, message)
            case RequestResume():
                await inbound.refuse("404", f'session "{session}" is running')

    def _state(self, session: str, message: OperatorStatus) -> OperatorState:
        run = self._runs.of(session)
        prompter = run.prompter if run is not None else None
        question = prompter.open_question() if prompter is not None else None
        return OperatorState(
            **reply_header(message, self._identity),
            held=True,
            task=run.task if run is not None else "",
            since=run.since if run is not None else "",
            question=UNSET if question is None else deciding.described(question),
        )

    async def _cancel(self, session: str, inbound: Inbound, message: Cancel) -> None:
        run = self._runs.of(session)
        if run is None:
            await inbound.refuse("404", f'no run of session "{session}" can be stopped')
            return
        run.stop()
        _log.info("session %s is stopped by %s", session, message.sender.name)
        await self._acknowledge(inbound, message)

    async def _answer(self, session: str, inbound: Inbound, message: RequestAnswer) -> None:
        run, call = self._runs.of(session), message.answer.tool_use_id
        prompter = run.prompter if run is not None else None
        question = prompter.open_question() if prompter is not None else None
        if prompter is None or question is None or question.tool_use_id != call:
            await inbound.refuse("404", f"this run is not waiting on call {quoted(call)}")
            return
        try:
            reply = deciding.reply_to(question, message, self._identity)
        except ProtocolError as exc:
            await inbound.refuse("400", str(exc))
            return
        if not prompter.answer(reply):
            await inbound.refuse("404", f"this run is not waiting on call {quoted(call)}")
            return
        who = message.sender.name
        _log.info("call %s of session %s is answered by %s", quoted(call), session, who)
        await self._acknowledge(inbound, message)

    async def _acknowledge(self, inbound: Inbound, message: Cancel | RequestAnswer) -> None:
        ack = Ack(**reply_header(message, self._identity), accepted=True)
        await inbound.respond(codec.encode(ack))


def unwanted(message: AnyMessage) -> str:
    """Word the refusal of a message that operators do not send."""
    return f'this path carries messages of operators: got "{protocol_of(message)}", want {WANTED}'
