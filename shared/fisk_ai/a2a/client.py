"""The caller of an agent: asks for its card, runs a task, answers its questions, stops it.

A reply set ends with its terminal and with nothing else: silence, a lost worker, a cut stream or
an unreadable message leave the outcome unknown and say so. Nothing is ever sent again by itself.
Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.answering import Given
from fisk_ai.a2a.exchange import Debug, Exchange
from fisk_ai.a2a.hooks import (
    CancelRequested,
    ClientHooks,
    PromptDeniedError,
    TaskHooks,
    submitted,
    tell,
)
from fisk_ai.a2a.messages import (
    AnyRequest,
    Cancel,
    DiscoveryReply,
    DiscoveryRequest,
    Sender,
    request_header,
)
from fisk_ai.a2a.outcome import ClientLimits, IncompleteTaskError, TaskEnd, TaskHandlers
from fisk_ai.a2a.reading import Reading, accepted
from fisk_ai.bus.connection import Connection
from fisk_ai.errors import AgentUnavailableError, NoRespondersError, ProtocolMismatchError
from fisk_ai.text.ids import ksuid

__all__ = [
    "AgentClient",
    "ClientHooks",
    "ClientLimits",
    "Debug",
    "Given",
    "IncompleteTaskError",
    "PromptDeniedError",
    "TaskEnd",
    "TaskHandlers",
]

CARD_TIMEOUT_S = 30.0


class AgentClient:
    """Speaks to the agent ``identity`` as ``sender``; runs any number of tasks at once."""

    def __init__(
        self,
        connection: Connection,
        identity: str,
        sender: Sender | str,
        *,
        debug: Debug | None = None,
        limits: ClientLimits | None = None,
        hooks: ClientHooks | None = None,
    ) -> None:
        named = sender if isinstance(sender, Sender) else Sender(name=sender)
        self._exchange = Exchange(connection, identity, sender=named, debug=debug)
        self._limits = limits or ClientLimits()
        self._hooks = hooks or ClientHooks()

    async def card(self, timeout_s: float = CARD_TIMEOUT_S) -> DiscoveryReply:
        """Return the agent's card.

        Raises:
            AgentUnavailableError: nobody answers under that identity.
            ServiceRefusedError, ProtocolError, BusError: as their names say.
        """
        exchange = self._exchange
        subject = subjects.discovery(exchange.identity)
        tag = ksuid()
        header = request_header(exchange.sender, exchange.identity, request=tag, conversation=tag)
        try:
            reply = await exchange.ask(subject, DiscoveryRequest(**header), timeout_s=timeout_s)
        except NoRespondersError as exc:
            raise AgentUnavailableError(f'no agent answers as "{exchange.identity}"') from exc
        if not isinstance(reply, DiscoveryReply):
            raise ProtocolMismatchError(f'"{subject}" answered with something that is no card')
        return reply

    async def run(self, request: AnyRequest, handlers: TaskHandlers) -> TaskEnd:
        """Run one task and read its reply set to the terminal.

        Raises:
            AgentUnavailableError: nobody listens, or nobody spoke in the first 10 seconds; in the
                second case the request may have been taken all the same.
            ServiceRefusedError: the request was refused before it was acknowledged.
            IncompleteTaskError: the set broke off; the outcome is unknown.
            PromptDeniedError: a hook refused the prompt; nothing was sent.
            ProtocolError: the request breaks a rule of its shape; nothing was sent.
            BusError: the request could not be sent.
        """
        request = await submitted(self._hooks, request)
        hooks = TaskHooks(self._hooks, request)
        try:
            end = await self._exchanged(request, handlers, hooks)
        except BaseException as exc:
            await hooks.broke_off(exc)
            raise
        await hooks.ended(end.terminal)
        return end

    async def _exchanged(
        self, request: AnyRequest, handlers: TaskHandlers, hooks: TaskHooks
    ) -> TaskEnd:
        subject = subjects.task(self._exchange.identity)
        body = codec.encode(request)
        connection = self._exchange.connection
        inbox = await connection.open_inbox()
        try:
            self._exchange.dump(">", subject, body)
            await connection.publish_request(subject, body, reply=inbox.subject)
            await connection.flush()
            reading = Reading(
                self._exchange, request, handlers=handlers, limits=self._limits, hooks=hooks
            )
            return await reading.run(inbox)
        finally:
            await inbox.close()

    async def cancel(self, request_id: str, reason: str = "") -> bool:
        """Stop a task at its next boundary; ``False`` says that it is not running.

        Raises:
            ServiceRefusedError, ProtocolError, BusError: as their names say.
        """
        exchange = self._exchange
        requested = CancelRequested(request=request_id, reason=reason)
        await tell(self._hooks.cancel_requested, requested)
        subject = subjects.cancel(exchange.identity, request_id)
        header = request_header(exchange.sender, exchange.identity, request=request_id)
        try:
            message = Cancel(**header, reason=reason)
            accepted(
                subject, await exchange.ask(subject, message, timeout_s=self._limits.control_s)
            )
        except NoRespondersError:
            return False
        return True
