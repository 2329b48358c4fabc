"""A connection to the broker: what nats-py does, with its traps closed.

Decided here: a message that would be over the broker's limit with its headers never leaves, because
the broker would answer by closing the connection for good; a first connection is bounded and ends
in one sentence; every later loss is waited out. Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

from fisk_ai.bus.client import Client, subscribe
from fisk_ai.bus.guard import DEFAULT_BOUND, Guard, ReplyRule, Watch, close_all
from fisk_ai.bus.health import Health
from fisk_ai.bus.inbox import Inbox, received
from fisk_ai.bus.library import LOST, errors
from fisk_ai.bus.login import Login, log_in
from fisk_ai.bus.messages import Handler, Inbound, Received, wire_bytes
from fisk_ai.bus.options import ConnectOptions, check_inbox, checked_prefixes
from fisk_ai.bus.service import Service
from fisk_ai.errors import (
    BusError,
    BusTimeoutError,
    MessageTooLargeError,
    NoRespondersError,
    SetupError,
)

__all__ = ["ConnectOptions", "Connection", "Inbound", "Inbox", "Received", "Watch", "connect"]

PING_INTERVAL_S = 10
PINGS_OUTSTANDING = 2
"""A frozen broker or peer is noticed within half a minute instead of minutes."""

RECONNECT_WAIT_S = 0.5
"""Longest pause between two attempts to reach a lost broker; attempts never end."""

ATTEMPT_TIMEOUT_S = 2.0
"""Bound of one attempt to open the socket and shake hands."""

BUFFER_BYTES = 8 * 1024 * 1024
"""Published bytes kept while the broker is away; past it publishing fails."""

FLUSH_TIMEOUT_S = 10.0
DRAIN_TIMEOUT_S = 10.0
DRAIN_PROBE_S = 3.0
"""A broker that does not answer in this time is not drained to: each step of it would wait."""

SHUT_TIMEOUT_S = 0.5
"""Bound of closing a socket, which waits while a stopped broker does not read."""


class Connection:
    """One connection, shared by everything of its owner that speaks over it."""

    def __init__(self, client: Client, health: Health, accepted_prefixes: tuple[str, ...]) -> None:
        self._client = client
        self._health = health
        self._inboxes: set[Inbox] = set()
        self._guard = Guard(client, ReplyRule(accepted_prefixes), self._send)

    @property
    def max_payload(self) -> int:
        """The most bytes of body and headers that the broker takes in one message."""
        return self._client.max_payload

    @property
    def server_version(self) -> str:
        """What the server calls its version."""
        return self._client.server_version

    @property
    def shed(self) -> int:
        """How many messages were dropped because they came faster than they were read."""
        return self._health.shed

    @property
    def connected(self) -> bool:
        """Whether the broker is there at this moment."""
        return self._client.is_connected

    @property
    def returns(self) -> int:
        """How often a lost broker came back; what was sent meanwhile to this side is lost."""
        return self._health.returns

    async def publish(
        self, subject: str, body: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a message; while the broker is away it is kept and sent later.

        Raises:
            MessageTooLargeError: body and headers are over :attr:`max_payload`.
            BusError: the subject is none, or the connection is gone.
        """
        await self._publish(subject, body, "", headers)

    async def publish_request(
        self, subject: str, body: bytes, *, reply: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a request whose replies come to ``reply``; raises as :meth:`publish`."""
        await self._publish(subject, body, reply, headers)

    async def request(
        self,
        subject: str,
        body: bytes,
        *,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> Received:
        """Send a request and return its one reply, which may be a refusal in its headers.

        Raises:
            NoRespondersError: nobody listens on ``subject``.
            BusTimeoutError: nobody replied in ``timeout_s`` seconds.
            MessageTooLargeError, BusError: as :meth:`publish`.
        """
        self._check_size(subject, body, headers)
        copied = dict(headers) if headers else None
        try:
            reply = await self._client.request(subject, body, timeout=timeout_s, headers=copied)
        except errors.NoRespondersError as exc:
            raise NoRespondersError(f'nobody listens on "{subject}"') from exc
        except errors.TimeoutError as exc:
            raise BusTimeoutError(f'no reply on "{subject}" within {timeout_s:g} s') from exc
        except LOST as exc:
            raise BusError(f'could not send to "{subject}": {exc}') from exc
        return received(reply)

    async def open_inbox(self) -> Inbox:
        """Return a private subject that the broker already knows of.

        Raises:
            BusError: the connection is gone.
        """
        inbox = Inbox(self._client.new_inbox(), self._health.count_shed)
        try:
            subscription = await subscribe(self._client, inbox.subject, inbox.accept)
            inbox.attach(subscription, self._inboxes.discard)
            self._inboxes.add(inbox)
            await self._client.flush()
        except LOST as exc:
            raise BusError(f"could not open an inbox: {exc}") from exc
        return inbox

    async def watch(self, subject: str, handler: Handler, *, bound: int = DEFAULT_BOUND) -> Watch:
        """Serve a control subject, ``bound`` requests at once, through the guard.

        Raises:
            BusError: the subject is none, or the connection is gone.
        """
        return await self._guard.listen(subject, handler, queue="", bound=bound)

    async def service(
        self,
        identity: str,
        *,
        version: str = "0.0.0",
        description: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> Service:
        """Start the micro service of ``identity``; endpoints are added to it.

        Raises:
            BusError: the connection is gone.
        """
        service = Service(
            self._guard,
            identity,
            version=version,
            description=description,
            unique=self._unique(),
            metadata=metadata or {},
        )
        await service.start()
        return service

    async def flush(self, timeout_s: float = FLUSH_TIMEOUT_S) -> None:
        """Wait until the broker has everything sent so far.

        Raises:
            BusTimeoutError: it did not say so in ``timeout_s`` seconds.
            BusError: the connection is gone.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._client.flush()
        except TimeoutError as exc:
            raise BusTimeoutError(f"the broker did not answer within {timeout_s:g} s") from exc
        except LOST as exc:
            raise BusError(f"could not flush: {exc}") from exc

    async def fault(self) -> Exception:
        """Wait for what ends this connection: closed for good, or a right that is missing."""
        return await self._health.fault()

    async def drain(self) -> None:
        """Close the connection: what was sent goes out, what was taken is served."""
        self._health.closing = True
        await close_all(tuple(self._guard.watches))
        self.end_inboxes()
        try:
            await self.flush(DRAIN_PROBE_S)
            async with asyncio.timeout(DRAIN_TIMEOUT_S):
                await self._client.drain()
        except (*LOST, BusError, TimeoutError):
            await _shut(self._client)

    async def drop(self) -> None:
        """Close the connection at once; what still waits to be sent is lost."""
        self._health.closing = True
        self.end_inboxes()
        await _shut(self._client)

    def end_inboxes(self) -> None:
        """Wake every reader of an inbox: nothing will come any more."""
        for inbox in tuple(self._inboxes):
            inbox.end()

    def wake_inboxes(self) -> None:
        """Have every reader of an inbox look around: the broker was away."""
        for inbox in tuple(self._inboxes):
            inbox.wake()

    def _unique(self) -> str:
        return self._client.new_inbox().rpartition(".")[2]

    async def _send(self, subject: str, body: bytes, headers: Mapping[str, str] | None) -> None:
        await self._publish(subject, body, "", headers)

    async def _publish(
        self, subject: str, body: bytes, reply: str, headers: Mapping[str, str] | None
    ) -> None:
        self._check_size(subject, body, headers)
        copied = dict(headers) if headers else None
        try:
            await self._client.publish(subject, body, reply=reply, headers=copied)
        except LOST as exc:
            raise BusError(f'could not publish to "{subject}": {exc}') from exc

    def _check_size(self, subject: str, body: bytes, headers: Mapping[str, str] | None) -> None:
        size = wire_bytes(body, headers or None)
        if size > self.max_payload:
            raise MessageTooLargeError(
                f'a message of {size} bytes to "{subject}" is over the '
                f"broker's limit of {self.max_payload} bytes",
                room_bytes=self.max_payload - (size - len(body)),
            )


async def connect(options: ConnectOptions) -> Connection:
    """Open a connection, trying until ``options.connect_timeout_s`` is over.

    Raises:
        SetupError: no broker there, or it refuses this client; names the address.
        ConfigError: an inbox prefix, own or accepted, that cannot be one.
    """
    accepted = checked_prefixes(options.accepted_prefixes)
    check_inbox(options.inbox_prefix)
    servers = options.servers()
    login = await asyncio.to_thread(log_in, options)
    health = Health(own_prefixes=bool(accepted))
    client = Client(needs_tls=login.needs_tls, public_key=login.public_key)
    connection = Connection(client, health, accepted)

    async def closed() -> None:
        connection.end_inboxes()
        await health.on_closed()

    async def reconnected() -> None:
        await health.on_reconnected()
        connection.wake_inboxes()

    attempt = asyncio.create_task(
        _open(client, servers, options, login, health, closed=closed, reconnected=reconnected)
    )
    refused = asyncio.create_task(health.refused())
    try:
        await asyncio.wait(
            {attempt, refused},
            timeout=options.connect_timeout_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if attempt.done():
            attempt.result()
            health.on_limit(client.max_payload, options.place())
            return connection
        reason = refused.result() if refused.done() else ""
        raise SetupError(_failure(options, health, reason), key="url")
    except LOST as exc:
        raise SetupError(_failure(options, health, str(exc)), key="url") from exc
    finally:
        refused.cancel()
        if not attempt.done():
            health.closing = True
            await _give_up(attempt, client)


async def _open(
    client: Client,
    servers: list[str],
    options: ConnectOptions,
    login: Login,
    health: Health,
    *,
    closed: Callable[[], Awaitable[None]],
    reconnected: Callable[[], Awaitable[None]],
) -> None:
    await client.connect(
        servers,
        name=f"fisk-ai {options.name}",
        error_cb=health.on_error,
        disconnected_cb=health.on_disconnected,
        reconnected_cb=reconnected,
        closed_cb=closed,
        user=options.user or None,
        password=options.password if options.user else None,
        token=options.token or None,
        signature_cb=login.sign,
        user_jwt_cb=login.jwt,
        tls=login.tls,
        tls_handshake_first=options.tls is not None and options.tls.first,
        inbox_prefix=options.inbox_prefix,
        connect_timeout=ATTEMPT_TIMEOUT_S,  # pyright: ignore[reportArgumentType] - any number does
        reconnect_time_wait=RECONNECT_WAIT_S,  # pyright: ignore[reportArgumentType] - likewise
        max_reconnect_attempts=-1,
        ping_interval=PING_INTERVAL_S,
        max_outstanding_pings=PINGS_OUTSTANDING,
        pending_size=BUFFER_BYTES,
        drain_timeout=int(DRAIN_TIMEOUT_S),
    )


def _failure(options: ConnectOptions, health: Health, detail: str = "") -> str:
    reason = detail or health.last_error or f"no answer within {options.connect_timeout_s:g} s"
    return f"connecting to {options.place()}: {reason}"


async def _give_up(attempt: asyncio.Task[None], client: Client) -> None:
    attempt.cancel()
    # Bounded, because nats-py swallows cancellations in places.
    await asyncio.wait({attempt}, timeout=ATTEMPT_TIMEOUT_S)
    await _shut(client)


async def _shut(client: Client) -> None:
    # A client that never had a socket fails to close it; there is nothing to close then.
    client.forget_unsent()
    with contextlib.suppress(*LOST, AttributeError, TimeoutError):
        async with asyncio.timeout(SHUT_TIMEOUT_S):
            await client.close()
    client.hang_up()
