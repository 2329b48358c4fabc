"""The operator of an agent: looks at a session by its id, and decides what it waits for.

The process that holds the session is asked first, and only where nobody does, any worker. Rules:
``docs/reference/a2a.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.exchange import Exchange, raise_refusal
from fisk_ai.a2a.hooks import ClientHooks, TaskHooks
from fisk_ai.a2a.messages import (
    Ack,
    Answer,
    OperatorState,
    OperatorStatus,
    RequestAnswer,
    Sender,
    request_header,
)
from fisk_ai.a2a.outcome import ClientLimits, TaskEnd, TaskHandlers
from fisk_ai.a2a.reading import Reading, accepted
from fisk_ai.bus.connection import Connection, Inbox, Received
from fisk_ai.errors import AgentUnavailableError, NoRespondersError, ProtocolMismatchError

FIRST_S: Final = 15.0
"""How long a worker may take to speak: it looks twice whether anybody holds the session."""


class OperatorClient:
    """Speaks for an operator called ``sender`` to the agent ``identity``."""

    def __init__(self, connection: Connection, identity: str, sender: str) -> None:
        self._exchange = Exchange(connection, identity, sender=Sender(name=sender), debug=None)
        self._limits = ClientLimits()

    async def status(self, session: str) -> OperatorState:
        """Return how a session stands.

        Raises:
            AgentUnavailableError: no worker of the agent answers.
            ServiceRefusedError: the agent has no such session, or cannot read it.
            ProtocolError, BusError: as their names say.
        """
        header = request_header(self._exchange.sender, self._exchange.identity)
        message = OperatorStatus(**header, session=session)
        held, anywhere = self._subjects(session)
        try:
            reply = await self._exchange.ask(held, message, timeout_s=self._limits.control_s)
        except NoRespondersError:
            reply = await self._anywhere(anywhere, message)
        if not isinstance(reply, OperatorState):
            raise ProtocolMismatchError(f'"{held}" answered with something that is no state')
        return reply

    async def decide(self, session: str, answer: Answer, handlers: TaskHandlers) -> TaskEnd | None:
        """Give an answer or an approval; return the run that it set going, if it did.

        ``None`` says that it was taken: by the run that asks, or into the journal.

        Raises:
            AgentUnavailableError, ServiceRefusedError, ProtocolError, BusError: as
                :meth:`status`; nothing was decided.
            IncompleteTaskError: the run began, and its reply set broke off.
        """
        header = request_header(self._exchange.sender, self._exchange.identity)
        request = RequestAnswer(**header, session=session, answer=answer)
        held, anywhere = self._subjects(session)
        try:
            reply = await self._exchange.ask(held, request, timeout_s=self._limits.control_s)
        except NoRespondersError:
            return await self._resumed(anywhere, request, handlers)
        accepted(held, reply)
        return None

    async def _anywhere(self, subject: str, message: OperatorStatus) -> object:
        try:
            return await self._exchange.ask(subject, message, timeout_s=FIRST_S)
        except NoRespondersError as exc:
            raise self._unavailable() from exc

    async def _resumed(
        self, subject: str, request: RequestAnswer, handlers: TaskHandlers
    ) -> TaskEnd | None:
        connection = self._exchange.connection
        inbox = await connection.open_inbox()
        try:
            await connection.publish_request(subject, codec.encode(request), reply=inbox.subject)
            await connection.flush()
            first = await inbox.next(FIRST_S)
            if first is None or first.no_responders:
                raise self._unavailable()
            raise_refusal(subject, first)
            message = codec.decode(first.body, "the reply")
            if isinstance(message, Ack) and not message.sequence:
                accepted(subject, message)
                return None
            reading = Reading(
                self._exchange,
                request,
                handlers=handlers,
                limits=self._limits,
                hooks=TaskHooks(ClientHooks(), request),
            )
            return await reading.run(_Begun(inbox, first))
        finally:
            await inbox.close()

    def _subjects(self, session: str) -> tuple[str, str]:
        identity = self._exchange.identity
        return subjects.session(identity, session), subjects.operator(identity)

    def _unavailable(self) -> AgentUnavailableError:
        return AgentUnavailableError(f'no worker of agent "{self._exchange.identity}" answers')


@dataclass(slots=True)
class _Begun:
    """A reply set whose first message was looked at already."""

    inbox: Inbox
    first: Received | None

    async def next(self, timeout_s: float) -> Received | None:
        """Return the first message, then those behind it."""
        first, self.first = self.first, None
        return first or await self.inbox.next(timeout_s)
