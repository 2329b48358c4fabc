"""The one way to listen for requests: every endpoint and control subscription goes through it.

A broker checks no reply subject against the rights of whoever names it, so a caller could have
this process publish into a journal or another conversation. A request whose reply subject is not
under an accepted inbox prefix is dropped before anything of it is read. Each request is served in
a task of its own, a bounded number at once; what does not fit waits in a bounded queue and past
that is shed. No exception of a handler leaves here: its caller reads one fixed text.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from fisk_ai.bus.client import Client, Limits, subscribe
from fisk_ai.bus.inbox import plain_headers
from fisk_ai.bus.library import LOST, Msg, Subscription
from fisk_ai.bus.messages import Handler, Inbound, Send
from fisk_ai.bus.options import BUILT_IN_PREFIXES
from fisk_ai.bus.pace import Pace
from fisk_ai.errors import BusError

_log = logging.getLogger("fisk_ai.bus")

DEFAULT_BOUND = 64
"""Requests of one subscription served at once."""

PENDING = Limits(messages=1024, body_bytes=64 * 1024 * 1024)
"""What waits behind the bound; past either the flood is shed and counted."""

CLOSE_TIMEOUT_S = 10.0
"""How long a closing subscription waits for its requests before it cancels them."""

REPLY_LIMIT = 1024
"""Longest reply subject in characters: a broker closes the connection of whoever sends a line of
more than 4096 bytes, and the caller's line need not have passed under the same limit as ours."""

INTERNAL_ERROR = "the request failed inside the service"
"""All that a caller learns of a bug of ours."""

_LITERAL_SUBJECT = re.compile(r"[^\s.*>]+(\.[^\s.*>]+)*")


class ReplyRule:
    """Which reply subjects a request may name."""

    def __init__(self, accepted: tuple[str, ...]) -> None:
        self._starts = tuple(f"{prefix}." for prefix in (*BUILT_IN_PREFIXES, *accepted))

    def allows(self, reply: str) -> bool:
        """Say whether ``reply`` is absent or a literal subject under an accepted prefix."""
        if not reply:
            return True
        fits = len(reply) <= REPLY_LIMIT and reply.startswith(self._starts)
        return fits and bool(_LITERAL_SUBJECT.fullmatch(reply))


@dataclass(frozen=True, slots=True)
class Guard:
    """What every guarded subscription of a connection shares."""

    client: Client
    rule: ReplyRule
    send: Send
    pace: Pace = field(default_factory=Pace)
    watches: set[Watch] = field(default_factory=set["Watch"])

    async def listen(self, subject: str, handler: Handler, *, queue: str, bound: int) -> Watch:
        """Serve ``subject`` from now on; the broker knows of it when this returns.

        Raises:
            BusError: the subject is none, or the connection is gone.
        """
        watch = Watch(self, subject, handler, bound)
        try:
            subscription = await subscribe(
                self.client, subject, watch.accept, queue=queue, limits=PENDING
            )
            watch.attach(subscription)
            self.watches.add(watch)
            await self.client.flush()
        except LOST as exc:
            await watch.close()
            raise BusError(f'could not listen on "{subject}": {exc}') from exc
        return watch


async def close_all(watches: Iterable[Watch]) -> None:
    """Close several watches together, so that none is open while another is waited for."""
    await asyncio.gather(*(watch.close() for watch in watches))


class Watch:
    """A guarded subscription."""

    def __init__(self, guard: Guard, subject: str, handler: Handler, bound: int) -> None:
        self.subject = subject
        self._guard = guard
        self._handler = handler
        self._slots = asyncio.Semaphore(bound)
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    def attach(self, subscription: Subscription) -> None:
        """Take the subscription that feeds this watch."""
        self._subscription = subscription

    async def accept(self, message: Msg) -> None:
        """Start a task for one request, or drop it for its reply subject."""
        if not self._guard.rule.allows(message.reply):
            self._drop(message.reply)
            return
        await self._slots.acquire()
        inbound = Inbound(
            message.data,
            plain_headers(message),
            message.subject,
            message.reply,
            self._guard.send,
        )
        task = asyncio.create_task(self._serve(inbound), name=f"serve {self.subject}")
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    async def close(self) -> None:
        """Leave the subject, then wait for the requests already taken.

        After 10 seconds those still running are cancelled. Safe to call twice and from a handler
        of this very watch, which is then not waited for.
        """
        subscription, self._subscription = self._subscription, None
        self._guard.watches.discard(self)
        if subscription is not None:
            await _leave(subscription)
        pending = self._tasks - {asyncio.current_task()}
        if not pending:
            return
        _, late = await asyncio.wait(pending, timeout=CLOSE_TIMEOUT_S)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=CLOSE_TIMEOUT_S)

    def _drop(self, reply: str) -> None:
        if lines := self._guard.pace.permits(f"reply {self.subject}"):
            _log.warning(
                "dropped %d requests on %s: reply subject %.100r is under no accepted prefix",
                lines,
                self.subject,
                reply,
            )

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._slots.release()

    async def _serve(self, inbound: Inbound) -> None:
        try:
            await self._handler(inbound)
        except Exception:  # noqa: BLE001 - the barrier of one request; nothing may leave it
            _log.exception("serving a request on %s failed", self.subject)
            with contextlib.suppress(BusError):
                await inbound.refuse("500", INTERNAL_ERROR)


async def _leave(subscription: Subscription) -> None:
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await subscription.drain()
    except (*LOST, TimeoutError):
        return  # the connection is closed, closing or away; it takes the subscription along
