"""Reading one reply set: what belongs to it, what is missing from it, and when it is over.

Only a terminal is an end. Everything else that stops a reading leaves the outcome unknown.
"""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.answering import Answering
from fisk_ai.a2a.exchange import Exchange, raise_refusal
from fisk_ai.a2a.hooks import TaskHooks
from fisk_ai.a2a.messages import (
    FINAL_HEADER,
    Ack,
    Answer,
    AnyElicitReply,
    AnyMessage,
    AnyRequest,
    ErrorTerminal,
    EventMessage,
    HeaderFields,
    Question,
    RequestRead,
    Result,
    StatusBlockEvent,
    TaskRequest,
    Terminal,
    ToolResultBlockEvent,
    reply_header,
    request_header,
)
from fisk_ai.a2a.outcome import ClientLimits, IncompleteTaskError, TaskEnd, TaskHandlers
from fisk_ai.bus.connection import Received
from fisk_ai.errors import (
    AgentUnavailableError,
    BusError,
    BusTimeoutError,
    IncompleteStreamError,
    NoRespondersError,
    ProtocolError,
    ProtocolMismatchError,
    ServiceRefusedError,
)


class Messages(Protocol):
    """Where the messages of a reply set come from."""

    async def next(self, timeout_s: float) -> Received | None:
        """Wait for one; ``None`` when none came in time."""
        ...


class Reading:
    """One task's reply set, read once, by one task of the event loop."""

    def __init__(
        self,
        exchange: Exchange,
        request: AnyRequest,
        *,
        handlers: TaskHandlers,
        limits: ClientLimits,
        hooks: TaskHooks,
    ) -> None:
        self._exchange = exchange
        self._request = request
        self._handlers = handlers
        self._limits = limits
        self._hooks = hooks
        self._subject = subjects.task(exchange.identity)
        self._answering = Answering(
            handlers.on_question, self._deliver, header=self._stamp, hooks=hooks
        )
        self._loop = asyncio.get_running_loop()
        self._started = self._heard_at = self._probed_at = self._loop.time()
        self._heard = self._live = False
        self._lost_at = self._refused_at = math.inf
        self._returns = exchange.connection.returns
        self._returned_at = -math.inf
        self._reason = self._token = ""
        self._sequence = self._gaps = 0

    async def run(self, inbox: Messages) -> TaskEnd:
        """Read to the terminal; raises as :meth:`AgentClient.run`."""
        try:
            terminal = await self._to_terminal(inbox)
            unsent = await self._answering.finish(terminal)
        except (IncompleteStreamError, BusError) as exc:
            raise self._broken(str(exc), await self._answering.finish()) from exc
        finally:
            await self._answering.stop()
        return TaskEnd(terminal=terminal, token=self._token, gaps=self._gaps, unsent=unsent)

    async def _to_terminal(self, inbox: Messages) -> Terminal:
        while True:
            received = await inbox.next(max(self._due() - self._loop.time(), 0.0))
            terminal = await (self._silence() if received is None else self._take(received))
            if terminal is not None:
                return terminal

    def _due(self) -> float:
        """Return when silence next means something."""
        if self._lost_at < math.inf:
            return self._lost_at + self._limits.lost_s
        if self._refused_at < math.inf:
            return self._refused_at + self._limits.refusal_s
        if not self._heard:
            return self._started + self._limits.first_message_s
        return min(self._idle_at(), self._probe_at())

    def _idle_at(self) -> float:
        if self._answering.open:
            return math.inf
        since = self._heard_at if self._has_events() else self._started
        limit = self._limits.live_idle_s if self._live else self._limits.idle_s
        return max(since, self._answering.closed_at) + limit

    def _probe_at(self) -> float:
        if isinstance(self._request, RequestRead):
            return math.inf  # a read runs nothing, so there is nobody to ask after
        known_at = max(self._heard_at, self._probed_at)
        if self._returned_at > known_at:
            return self._returned_at + self._limits.return_s
        return known_at + self._limits.probe_s

    def _has_events(self) -> bool:
        return not isinstance(self._request, TaskRequest) or self._request.wants_stream()

    async def _silence(self) -> Terminal | None:
        now = self._loop.time()
        if self._exchange.connection.returns != self._returns:
            self._returns = self._exchange.connection.returns
            self._returned_at = now
            return None
        if self._lost_at < math.inf:
            raise IncompleteStreamError(
                "nobody answers for this task any more, and nothing said how it ended"
            )
        if self._refused_at < math.inf:
            return self._refusal()
        if not self._heard:
            raise AgentUnavailableError(
                f'agent "{self._exchange.identity}" did not speak within '
                f"{self._limits.first_message_s:g} s; it may have taken the request all the same"
            )
        if now >= self._idle_at():
            raise IncompleteStreamError(
                f"the agent said nothing for {now - self._heard_at:.0f} s; the run may go on"
            )
        await self._probe()
        return None

    async def _probe(self) -> None:
        try:
            await self._exchange.probe(self._request.request, self._limits.control_s)
        except NoRespondersError:
            self._lost_at = self._loop.time()
        except BusTimeoutError:
            pass  # frozen, or only busy: the idle limit decides
        self._probed_at = self._loop.time()

    async def _take(self, received: Received) -> Terminal | None:
        self._exchange.dump("<", self._subject, received.body)
        if received.no_responders:
            raise AgentUnavailableError(f'no agent answers prompts as "{self._exchange.identity}"')
        raise_refusal(self._subject, received)
        peek = codec.peek(received.body)
        if peek is None or peek.request != self._request.request:
            return None
        terminal = await self._dispatch(_read(received.body))
        if terminal is None and received.headers.get(FINAL_HEADER):
            raise IncompleteStreamError("the reply set ended on a message that is no ending")
        return terminal

    async def _dispatch(self, message: AnyMessage) -> Terminal | None:
        self._heard, self._heard_at = True, self._loop.time()
        await self._number(message.sequence)
        if isinstance(message, Result | ErrorTerminal):
            return message
        if isinstance(message, Ack):
            await self._acknowledged(message)
        elif isinstance(message, EventMessage):
            block = message.block
            self._live |= isinstance(block, StatusBlockEvent) and block.phase == "running"
            if isinstance(block, ToolResultBlockEvent):
                self._answering.settled(block.call_id)
            await self._handlers.on_event(block)
        elif isinstance(message, Question):
            self._answering.start(message)
        else:
            raise IncompleteStreamError("the reply set holds a message that has no place in one")
        return None

    async def _number(self, sequence: int) -> None:
        missed = sequence - self._sequence - 1
        self._sequence = max(sequence, self._sequence)
        if missed > 0:
            self._gaps += missed
            await self._handlers.on_gap(missed)

    async def _acknowledged(self, ack: Ack) -> None:
        self._token = ack.conversation_token or self._token
        if not ack.accepted:
            self._refused_at, self._reason = self._loop.time(), ack.reason
        await self._hooks.acknowledged(ack)
        await self._handlers.on_ack(ack)

    def _refusal(self) -> Terminal:
        header = reply_header(self._request, self._exchange.identity, self._sequence + 1)
        text = self._reason or "the agent refused the request"
        return ErrorTerminal(**header, error=text, code="rejected", stop_reason="error")

    def _broken(self, text: str, unsent: tuple[Answer, ...]) -> IncompleteTaskError:
        return IncompleteTaskError(text, token=self._token, gaps=self._gaps, unsent=unsent)

    def _stamp(self) -> HeaderFields:
        return request_header(
            self._exchange.sender,
            self._exchange.identity,
            request=self._request.request,
            conversation=self._request.conversation,
        )

    async def _deliver(self, reply: AnyElicitReply) -> Ack:
        subject = subjects.elicit(self._exchange.identity, self._request.request)
        message = await self._exchange.ask(subject, reply, timeout_s=self._limits.control_s)
        return accepted(subject, message)


def _read(body: bytes) -> AnyMessage:
    try:
        return codec.decode(body)
    except ProtocolError as exc:
        raise IncompleteStreamError(f"a message of the reply set cannot be read: {exc}") from exc


def accepted(subject: str, message: AnyMessage) -> Ack:
    """Return the reply to a control message.

    Raises:
        ProtocolMismatchError: it is no acknowledgement.
        ServiceRefusedError: it is a refusing one.
    """
    if not isinstance(message, Ack):
        raise ProtocolMismatchError(f'"{subject}" answered with something that is no ack')
    if not message.accepted:
        reason = message.reason or "no reason given"
        raise ServiceRefusedError(f'"{subject}" refused the request: {reason[:500]}', status="")
    return message
