"""The endpoint of operators: sessions that nobody runs, looked at, decided about and resumed.

A session of a caller goes on at once, in a slot of this worker. What a queue brings again is only
written down, for its next delivery. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec import structs

from agent_worker.channels.prompts import PromptsChannel
from agent_worker.operators import recording
from agent_worker.operators.door import WANTED, unwanted
from agent_worker.requests import read
from fisk_ai.a2a import codec, deciding, subjects
from fisk_ai.a2a.messages import (
    Ack,
    Cancel,
    OperatorState,
    OperatorStatus,
    RequestAnswer,
    RequestResume,
    WaitingCall,
    reply_header,
)
from fisk_ai.agent.waiting import Waiting, waiting
from fisk_ai.bus.messages import Inbound
from fisk_ai.bus.service import Service
from fisk_ai.errors import (
    AlreadyAnsweredError,
    EmptyError,
    InvalidIdError,
    LockedError,
    NotDeferredError,
    NotFoundError,
    ProtocolError,
    ResultTooLargeError,
    StoreError,
)
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Record
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store
from fisk_ai.text.sanitise import clean_surrogates, quoted, truncate

_log = logging.getLogger("agent_worker.operators")

AT_ONCE: Final = 8
"""Messages of operators served at once: each folds a journal."""

TOLD_LIMIT: Final = 64 * 1024
"""Characters of arguments that are told of one session; longer ones are left out."""

CALLS_LIMIT: Final = 100
QUESTION_LIMIT: Final = 500
"""Calls that are told of one session, and code points of what one asks."""

PROMPTS: Final = "t-"
JOBS: Final = "j-"
TURNS: Final = ("s-", "w-")
"""What the ids of sessions begin with, by the channel that made them."""


class Turns(Protocol):
    """The channel of durable turns, which takes an operator's message as a turn of its own."""

    async def publish(self, request: RequestAnswer | RequestResume) -> None:
        """Queue the turn for the session that ``request`` names; it is stored when this returns.

        Raises:
            FiskError: it was not.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Stored:
    records: list[Record]
    state: RunState

    def waiting(self) -> list[Waiting]:
        return waiting(self.records, self.state)

    def call(self, tool_use_id: str) -> Waiting | None:
        return next((item for item in self.waiting() if item.tool_use_id == tool_use_id), None)


class _RefusedError(Exception):
    """What an operator asks cannot be: a status of the protocol, and why."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


class OperatorEndpoint:
    """Serves operators; a service of the server."""

    def __init__(
        self,
        identity: str,
        store: Store,
        *,
        prompts: PromptsChannel | None,
        turns: Turns | None = None,
    ) -> None:
        """``prompts`` and ``turns`` are there where this worker serves them."""
        self._identity = identity
        self._store = store
        self._prompts = prompts
        self._turns = turns

    @property
    def name(self) -> str:
        """The label in logs."""
        return "operator"

    async def start(self, service: Service) -> None:
        """Register the endpoint.

        Raises:
            BusError: the broker did not take it.
        """
        subject = subjects.operator(self._identity)
        await service.add_endpoint("operator", subject, self._serve, bound=AT_ONCE)

    async def close(self) -> None:
        """Nothing is left to do: the micro service leaves the subject."""

    async def _serve(self, inbound: Inbound) -> None:
        message = await read(inbound, "the message")
        if message is None:
            return
        if not isinstance(message, OperatorStatus | Cancel | RequestAnswer | RequestResume):
            await inbound.refuse("400", unwanted(message))
            return
        try:
            if not message.session:
                raise _RefusedError("400", f"the message names no session; want {WANTED}")
            await self._served(inbound, message)
        except _RefusedError as exc:
            await inbound.refuse(exc.status, str(exc))

    async def _served(
        self, inbound: Inbound, message: OperatorStatus | Cancel | RequestAnswer | RequestResume
    ) -> None:
        if isinstance(message, Cancel):
            raise _RefusedError("404", f'no worker runs session "{message.session}"')
        stored = await self._load(message.session)
        if isinstance(message, OperatorStatus):
            await inbound.respond(codec.encode(self._state(message, stored)))
            return
        who, session = message.sender.name, message.session
        _log.info("session %s gets a decision or a resume from %s", session, who)
        if isinstance(message, RequestAnswer):
            message = _bound(message, stored)
        if session.startswith(TURNS):
            await self._publish(message)
        elif session.startswith(JOBS):
            await self._record(message, stored)
        elif session.startswith(PROMPTS) and self._prompts is not None:
            await self._prompts.resume(inbound, message)
            return
        else:
            raise _RefusedError("404", f'session "{session}" is of no channel of this agent')
        ack = Ack(**reply_header(message, self._identity), accepted=True)
        await inbound.respond(codec.encode(ack))

    async def _load(self, session: str) -> _Stored:
        """Return a session of this very agent: several may share one store."""
        unknown = f'agent "{self._identity}" has no session "{session}"'
        try:
            records = await self._store.records(session)
            stored = _Stored(records, await asyncio.to_thread(fold, records))
        except (NotFoundError, EmptyError, InvalidIdError) as exc:
            raise _RefusedError("404", unknown) from exc
        except StoreError as exc:
            _log.warning("session %s could not be read: %s", session, exc)
            raise _RefusedError("500", "reading the stored session failed") from exc
        if stored.state.meta.agent != self._identity:
            raise _RefusedError("404", unknown)
        return stored

    async def _publish(self, request: RequestAnswer | RequestResume) -> None:
        if self._turns is None:
            raise _RefusedError(
                "400",
                f'session "{request.session}" belongs to a thread, which this release does not'
                " reach; answer it in its thread",
            )
        await self._turns.publish(request)

    async def _record(self, request: RequestAnswer | RequestResume, stored: _Stored) -> None:
        if isinstance(request, RequestResume):
            raise _RefusedError("404", "a job is resumed by its retry")
        call = request.answer.tool_use_id
        item = stored.call(call)
        try:
            if item is None:
                raise NotDeferredError(_not_waiting(call, stored))
            await recording.record(self._store, request.session, item, request.answer)
        except (NotDeferredError, AlreadyAnsweredError) as exc:
            raise _RefusedError("404", str(exc)) from exc
        except (ProtocolError, ResultTooLargeError) as exc:
            raise _RefusedError("400", str(exc)) from exc
        except LockedError as exc:
            raise _RefusedError("500", str(exc)) from exc
        except StoreError as exc:
            _log.warning("session %s could not be written: %s", request.session, exc)
            raise _RefusedError("500", "recording in the session failed") from exc

    def _state(self, message: OperatorStatus, stored: _Stored) -> OperatorState:
        return OperatorState(
            **reply_header(message, self._identity),
            held=False,
            status=stored.state.status,
            waiting=_told(stored.waiting()),
        )


def _bound(request: RequestAnswer, stored: _Stored) -> RequestAnswer:
    """Return an approval bound to the arguments that its call has, unless it was for others."""
    answer = request.answer
    item = stored.call(answer.tool_use_id)
    if answer.kind != "approve" or item is None:
        return request
    digest = args_sha256(item.tool, item.arguments)
    try:
        deciding.require_arguments(answer, digest)
    except ProtocolError as exc:
        raise _RefusedError("400", str(exc)) from exc
    return structs.replace(request, answer=structs.replace(answer, args_sha256=digest))


def _told(items: list[Waiting]) -> tuple[WaitingCall, ...]:
    """Return what waits as an operator is told of it, within one message."""
    told: list[WaitingCall] = []
    room = TOLD_LIMIT
    for item in items[:CALLS_LIMIT]:
        arguments = item.arguments.decode(errors="replace")
        shown = arguments if len(arguments) <= room else ""
        room -= len(shown)
        told.append(
            WaitingCall(
                tool_use_id=item.tool_use_id,
                kind=item.kind,
                tool=clean_surrogates(item.tool),
                question=truncate(clean_surrogates(item.question), QUESTION_LIMIT),
                since=item.since,
                arguments=shown,
                args_sha256=args_sha256(item.tool, item.arguments),
                in_doubt=item.in_doubt,
                unasked=item.is_unasked,
                approved=item.is_approved,
            )
        )
    return tuple(told)


def _not_waiting(call: str, stored: _Stored) -> str:
    return (
        f"call {quoted(call)} is not waiting for a decision; the session is {stored.state.status}"
    )
