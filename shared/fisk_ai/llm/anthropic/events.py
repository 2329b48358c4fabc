"""Server-sent events: the bytes of a stream, cut into the data of each event."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

EVENT_LIMIT_BYTES: Final = 32 * 1024 * 1024
"""The API takes no larger request, so no event that could ever be sent back is larger."""

_NO_FIELD: Final = (b"{", b"[", b"<")
"""No line of a stream begins like this: such a body is JSON or a page."""

_DONE: Final = [b"[DONE]"]
"""How servers of another API end a stream; some send it here, too."""


async def events(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each server-sent event.

    A body that is none of a stream is one event: an error, a web page, or the whole message from a
    server that streams nothing.

    Raises:
        ValueError: an event is over the limit.
    """
    data: list[bytes] = []
    is_first = True
    lines = _lines(chunks)
    async for line in lines:
        if is_first and line.lstrip()[:1] in _NO_FIELD:
            yield await _whole(line, lines)
            return
        is_first = is_first and not line.strip()
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            if data != _DONE:
                yield b"\n".join(data)
            data = []


async def _whole(line: bytes, lines: AsyncIterable[bytes]) -> bytes:
    body = bytearray(line)
    async for more in lines:
        body += b"\n" + more
        _require_bounded(body)
    return bytes(body)


async def _lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    # Only line feeds end a line here: str.splitlines() would also cut at U+2028 inside a text.
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        _require_bounded(waiting)
        if b"\n" not in chunk:
            continue
        *lines, waiting = waiting.split(b"\n")
        for line in lines:
            yield bytes(line.removesuffix(b"\r"))
    if waiting.strip():
        yield bytes(waiting)


def _require_bounded(event: bytearray) -> None:
    if len(event) > EVENT_LIMIT_BYTES:
        raise ValueError(f"an event is over {EVENT_LIMIT_BYTES} bytes")
