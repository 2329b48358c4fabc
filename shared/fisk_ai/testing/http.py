"""A small HTTP/1.1 server on loopback: enough for one fake API, and nothing else.

It needs no package beyond the standard library, so that an installed product can be tested in an
environment that holds the product alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

HEAD_LIMIT_BYTES: Final = 64 * 1024
BODY_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""A test that sends more has lost its way."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Reply:
    """What a handler answers with; each method writes at once."""

    _writer: asyncio.StreamWriter
    is_broken: bool = field(default=False)

    async def send(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole response."""
        length = {"content-length": str(len(body))}
        self._head(status, {"content-type": "application/json"} | dict(headers or {}) | length)
        self._writer.write(body)
        await self._writer.drain()

    async def start_stream(self, headers: Mapping[str, str] | None = None) -> None:
        """Begin a response whose body follows in chunks."""
        chunked = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        self._head(200, chunked | dict(headers or {}))
        await self._writer.drain()

    async def chunk(self, data: bytes) -> None:
        """Send a part of a stream."""
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self._writer.drain()

    async def end_stream(self) -> None:
        """End a stream as it should end."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def break_off(self) -> None:
        """Close the connection in the middle of whatever was going on."""
        self.is_broken = True
        self._writer.transport.abort()

    async def hang(self) -> None:
        """Never answer; returns when the connection is gone."""
        self.is_broken = True
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = "Unknown"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{k}: {v}" for k, v in headers.items())]
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))


Handler = Callable[[HttpRequest, Reply], Awaitable[None]]


class HttpServer:
    """Serves one handler on a free port of 127.0.0.1."""

    def __init__(self, handler: Handler) -> None:
        """Prepare; ``start`` opens the port."""
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[object] | None] = {}
        self.url = ""

    async def start(self) -> None:
        """Open a free port; ``url`` is set afterwards."""
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, limit=HEAD_LIMIT_BYTES
        )
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is None:
            return
        self._server.close()
        for writer in self._connections:
            writer.transport.abort()
        tasks = [task for task in self._connections.values() if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections[writer] = asyncio.current_task()
        gone = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)
        try:
            with suppress(*gone):
                await self._serve_connection(reader, writer)
        finally:
            del self._connections[writer]
            writer.transport.abort()

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while not reader.at_eof():
            request = await _read_request(reader)
            reply = Reply(writer)
            await self._handler(request, reply)
            if reply.is_broken:
                return


async def _read_request(reader: asyncio.StreamReader) -> HttpRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    if length > BODY_LIMIT_BYTES:
        raise ValueError(f"a request of {length} bytes is over {BODY_LIMIT_BYTES}")
    return HttpRequest(method, path, headers, await reader.readexactly(length))
