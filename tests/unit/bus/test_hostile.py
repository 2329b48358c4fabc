"""Whatever somebody puts into a message, the next one is heard at once."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from fisk_ai.bus.client import HEADERS_LIMIT_BYTES
from fisk_ai.bus.connection import ConnectOptions, Inbound, connect
from fisk_ai.bus.credentials import Key

Serve = Callable[[str], AbstractAsyncContextManager[str]]
Send = Callable[[bytes], Awaitable[None]]

OPEN = 'listen: "127.0.0.1:-1"'
SOON_S = 2.0


def _with_headers(headers: bytes, *, reply: bytes = b"") -> bytes:
    sizes = b"%d %d" % (len(headers), len(headers) + 1)
    return b"HPUB SUBJECT " + reply + b" " + sizes + b"\r\n" + headers + b"x\r\n"


HOSTILE = {
    "reply-not-utf8": b"PUB SUBJECT \xff 1\r\nx\r\n",
    "inbox-not-utf8": b"PUB SUBJECT _INBOX.\xff\xfe 1\r\nx\r\n",
    "reply-with-vertical-tab": b"PUB SUBJECT a\x0bb 1\r\nx\r\n",
    "reply-with-form-feed": b"PUB SUBJECT _INBOX.a\x0cb 1\r\nx\r\n",
    "reply-with-nul": b"PUB SUBJECT _INBOX.\x00 1\r\nx\r\n",
    "reply-with-carriage-return": b"PUB SUBJECT a\rb 1\r\nx\r\n",
    "reply-of-3000": b"PUB SUBJECT _INBOX." + b"r" * 3000 + b" 1\r\nx\r\n",
    "reply-a-number": _with_headers(b"NATS/1.0\r\n\r\n", reply=b"7"),
    "headers-blank": _with_headers(b"\r\n\r\n"),
    "headers-cut": _with_headers(b"NATS/1.0"),
    "headers-none": _with_headers(b""),
    "headers-a-length": _with_headers(b"99999999\r\n"),
    "headers-an-error": _with_headers(b"1\r\n\r\n-ERR 'Authorization Violation'\r\n"),
    "headers-a-server": _with_headers(b'1\r\n\r\nINFO {"connect_urls": ["[bad"]}\r\n'),
    "status-not-utf8": _with_headers(b"NATS/1.0 \xff\xfe\xfd\r\n\r\n"),
    "description-not-utf8": _with_headers(b"NATS/1.0 503 \xff\xfe\xfd\r\n\r\n"),
    "header-name-not-utf8": _with_headers(b"NATS/1.0\r\n\xff: y\r\n\r\n"),
    "headers-of-a-megabyte": _with_headers(b"NATS/1.0\r\n" + b"a:b\r\n" * 200_000 + b"\r\n"),
}
"""What a broker passes on, whatever its reader makes of it."""

hostile = pytest.mark.parametrize("wire", HOSTILE.values(), ids=HOSTILE)


@asynccontextmanager
async def _raw(url: str) -> AsyncGenerator[Send, None]:
    """Speak to the broker without a library; a send ends when the broker has all of it."""
    host, _, port = url.removeprefix("nats://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await reader.readline()
    writer.write(b'CONNECT {"verbose": false, "headers": true, "no_responders": true}\r\n')

    async def send(wire: bytes) -> None:
        writer.write(wire + b"PING\r\n")
        assert await asyncio.wait_for(reader.readline(), SOON_S) == b"PONG\r\n"

    try:
        yield send
    finally:
        writer.close()
        await writer.wait_closed()


async def _echo(request: Inbound) -> None:
    if request.reply:
        await request.respond(request.body)


@hostile
async def test_the_request_after_a_hostile_message_is_answered_at_once(
    serve: Serve, wire: bytes
) -> None:
    async with serve(OPEN) as url, _raw(url) as send:
        worker = await connect(ConnectOptions(url, "worker"))
        caller = await connect(ConnectOptions(url, "caller"))
        service = await worker.service("agent")
        await service.add_endpoint("task", "task.agent", _echo)
        await worker.watch("cancel.agent", _echo)

        for subject in ("task.agent", "cancel.agent", "$SRV.PING.agent"):
            await send(wire.replace(b"SUBJECT", subject.encode()))
            assert (await caller.request(subject, b"x", timeout_s=SOON_S)).body

        assert worker.returns == 0
        await caller.drop()
        await worker.drop()


@hostile
async def test_a_hostile_reply_does_not_deafen_who_asked(serve: Serve, wire: bytes) -> None:
    async with serve(OPEN) as url, _raw(url) as send:
        caller = await connect(ConnectOptions(url, "caller"))
        replies: list[str] = []

        async def note(request: Inbound) -> None:
            replies.append(request.reply)
            await _echo(request)

        await caller.watch("work", note)
        await caller.request("work", b"", timeout_s=SOON_S)
        inbox = await caller.open_inbox()
        shared = replies[0].rpartition(".")[0].encode()

        for subject in (inbox.subject.encode(), shared + b".\xff", shared + b".\x0c1"):
            await send(wire.replace(b"SUBJECT", subject))
        await send(b"PUB " + inbox.subject.encode() + b" 4\r\ntrue\r\n")

        heard = [await inbox.next(SOON_S)]
        while heard[-1] is not None and heard[-1].body != b"true":
            heard.append(await inbox.next(SOON_S))
        assert heard[-1] is not None
        assert await caller.request("work", b"", timeout_s=SOON_S)
        assert caller.returns == 0
        await caller.drop()


async def test_a_flood_of_unreadable_messages_is_a_line_a_second(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(OPEN) as url, _raw(url) as send:
        worker = await connect(ConnectOptions(url, "worker"))
        await worker.watch("work", _echo)

        await send(b"PUB work \xff 1\r\nx\r\n" * 2000)
        assert await worker.request("work", b"", timeout_s=SOON_S)

        lines = [r for r in caplog.records if "cannot be read" in r.getMessage()]
        assert 1 <= len(lines) <= 3
        await worker.drop()


async def test_headers_up_to_their_limit_are_read_and_no_more(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    def padded(size: int) -> bytes:
        start, end = b"NATS/1.0\r\nPad: ", b"\r\n\r\n"
        return _with_headers(start + b"x" * (size - len(start) - len(end)) + end)

    async with serve(OPEN) as url, _raw(url) as send:
        worker = await connect(ConnectOptions(url, "worker"))
        served: list[int] = []

        async def note(request: Inbound) -> None:
            served.append(len(request.headers.get("Pad", "")))
            await _echo(request)

        await worker.watch("work", note)
        await send(padded(HEADERS_LIMIT_BYTES + 1).replace(b"SUBJECT", b"work"))
        await send(padded(HEADERS_LIMIT_BYTES).replace(b"SUBJECT", b"work"))
        await worker.request("work", b"", timeout_s=SOON_S)

        assert served == [HEADERS_LIMIT_BYTES - 19, 0]
        assert "over 65536 bytes" in caplog.text
        await worker.drop()


async def test_random_replies_and_headers_are_lived_through(serve: Serve) -> None:
    dice = random.Random(2)
    blanks = bytes.maketrans(b" \t\r\n", b"....")

    def message() -> bytes:
        reply = dice.randbytes(dice.randint(1, 40)).translate(blanks)
        start = dice.choice(
            [b"", b"NATS/1.0\r\n", b"NATS/1.0 ", b"12\r\n", b"\r\n", b"MSG work 1 1"]
        )
        headers = start + dice.randbytes(dice.randint(0, 40)) + b"\r\n\r\n"
        size = b"%d %d" % (len(headers), len(headers) + 5)
        return b"HPUB work " + reply + b" " + size + b"\r\n" + headers + b"+OK\r\n\r\n"

    async with serve(OPEN) as url, _raw(url) as send:
        worker = await connect(ConnectOptions(url, "worker"))
        await worker.watch("work", _echo)
        for _ in range(20):
            await send(b"".join(message() for _ in range(100)))
            assert await worker.request("work", b"", timeout_s=SOON_S)
        assert worker.returns == 0
        await worker.drop()


class _Between:
    """Stands between a client and its broker: may say something itself, or hang up."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("nats://").partition(":")
        self._broker = (host, int(port))
        self._writers: list[asyncio.StreamWriter] = []
        self._met = asyncio.Semaphore(0)
        self._relays: set[asyncio.Task[None]] = set()

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._broker)
        self._writers = [writer]
        self._met.release()
        async with asyncio.TaskGroup() as ways:
            self._relays.add(ways.create_task(self._pour(reader, back)))
            self._relays.add(ways.create_task(self._pour(there, writer)))

    async def met(self, times: int) -> None:
        """Wait for that many connections since the start."""
        async with asyncio.timeout(5):
            for _ in range(times):
                await self._met.acquire()

    async def _pour(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
        except OSError:
            pass
        finally:
            sink.close()
            with contextlib.suppress(OSError):
                await sink.wait_closed()

    def say(self, wire: bytes) -> None:
        for writer in self._writers:
            writer.write(wire)

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()

    async def ended(self) -> None:
        """Wait until every connection is closed on both sides."""
        await asyncio.wait(self._relays)


@asynccontextmanager
async def _between(url: str) -> AsyncGenerator[tuple[_Between, str], None]:
    between = _Between(url)
    server = await asyncio.start_server(between.relay, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield between, f"nats://127.0.0.1:{port}"
    finally:
        server.close()
        between.hang_up()
        await between.ended()


@pytest.mark.parametrize(
    "wire",
    [
        b"HELLO\r\n",
        b"MSG work 1 -1\r\n",
        b"MSG work one 1\r\n",
        b"INFO {\r\n",
        b"INFO []\r\n",
        b'INFO {"connect_urls": ["[bad"]}\r\n',
        b"x" * (1024 * 1024 + 1),
    ],
    ids=["word", "length", "sid", "json", "list", "address", "endless"],
)
async def test_reading_that_ended_begins_anew_without_waiting_for_a_ping(
    serve: Serve, wire: bytes
) -> None:
    async with serve(OPEN) as url, _between(url) as (between, address):
        worker = await connect(ConnectOptions(address, "worker"))
        await worker.watch("work", _echo)
        inbox = await worker.open_inbox()

        between.say(wire)

        assert await inbox.next(5) is None
        assert worker.returns == 1
        assert await worker.request("work", b"", timeout_s=SOON_S)
        await worker.drop()


async def test_a_key_that_is_missing_for_a_moment_does_not_end_the_attempts(
    serve: Serve, tmp_path: Path, seed_text: Callable[..., str]
) -> None:
    seed = seed_text(bytes(32))
    file = tmp_path / "seed"
    file.write_text(seed)
    users = f"{OPEN}\nauthorization {{ users: [{{nkey: {Key(seed).public()}}}] }}"
    async with serve(users) as url, _between(url) as (between, address):
        worker = await connect(ConnectOptions(address, "worker", nkey=str(file)))
        inbox = await worker.open_inbox()
        file.unlink()

        between.hang_up()
        await between.met(3)
        file.write_text(seed)

        assert await inbox.next(5) is None
        assert worker.returns == 1
        await worker.flush(SOON_S)
        await worker.drop()
