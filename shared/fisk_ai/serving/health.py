"""Liveness and readiness of a process over HTTP, on a port of its own.

Whoever answers is alive. It is ready while nothing keeps it from serving; else it says what, in
words and one per line. Nothing a client sends is kept, and little of it is read. Rules:
``docs/reference/serving.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from fisk_ai.errors import SetupError
from fisk_ai.text.sanitise import for_terminal

ADDRESS_VARIABLE: Final = "FISK_AI_HEALTH_ADDRESS"

HEAD_LIMIT_BYTES: Final = 8192
"""A request line and what clients commonly send below it."""

CLIENTS: Final = 32
"""Connections served at once; a probe is one, and further ones are closed unread."""

CLIENT_S: Final = 5.0
"""How long one connection may take in all."""

REASON_LIMIT: Final = 300

_ADDRESS: Final = re.compile(r"(?P<host>[\w.-]*|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")

Reasons = Callable[[], Awaitable[Sequence[str]]]
"""Tells what keeps the process from serving; nothing while it is ready."""


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of ``host:port``; without a host it is every interface.

    Raises:
        ValueError: it is no such address.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65_535:
        raise ValueError("must be host:port, or :port for every interface")
    return match["host"].strip("[]"), int(match["port"])


class HealthServer:
    """Answers ``/livez`` and ``/readyz``."""

    def __init__(self, reasons: Reasons) -> None:
        self._reasons = reasons
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def start(self, address: str) -> str:
        """Listen, and return the address as it was bound, for port 0 takes any.

        Raises:
            SetupError: the address is none, or cannot be used.
        """
        try:
            host, port = parse_address(address)
            self._server = await asyncio.start_server(
                self._accept, host or None, port, limit=HEAD_LIMIT_BYTES
            )
        except (OSError, ValueError) as exc:
            reason = (exc.strerror if isinstance(exc, OSError) else "") or str(exc)
            raise SetupError(
                f'{ADDRESS_VARIABLE} "{for_terminal(address, 100)}" cannot be used: {reason}',
                key=ADDRESS_VARIABLE,
            ) from exc
        bound = self._server.sockets[0].getsockname()
        return f"[{bound[0]}]:{bound[1]}" if ":" in bound[0] else f"{bound[0]}:{bound[1]}"

    async def close(self) -> None:
        """Stop listening and let go of every client; calling it twice is harmless."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        clients = tuple(self._clients)
        for client in clients:
            client.cancel()
        if clients:
            await asyncio.wait(clients)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= CLIENTS:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer), name="health")
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(CLIENT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._answer(head))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # no request: nothing to answer
        finally:
            with contextlib.suppress(OSError):
                writer.close()

    async def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if path not in (b"/livez", b"/readyz"):
            return _response("404 Not Found", ["no such path"], method)
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", ["GET or HEAD"], method, "Allow: GET, HEAD")
        if path == b"/livez":
            return _response("200 OK", ["alive"], method)
        reasons = await self._reasons()
        if reasons:
            return _response("503 Service Unavailable", reasons, method)
        return _response("200 OK", ["ready"], method)


def _response(status: str, lines: Sequence[str], method: bytes, *headers: str) -> bytes:
    body = "".join(f"{for_terminal(line, REASON_LIMIT)}\n" for line in lines).encode()
    head = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + (b"" if method == b"HEAD" else body)
