"""A readable dump of a model's traffic, for a person who looks on while an agent is built.

It holds whole conversations and no header, so never the key. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from fisk_ai.errors import SetupError
from fisk_ai.llm.private_file import PrivateFile
from fisk_ai.llm.provider import HttpCall, HttpMiddleware, HttpRequest, HttpResponse


class HttpDebug:
    """A dump that is being written; a failure of its file never reaches a run."""

    __slots__ = ("_file",)

    def __init__(self, file: PrivateFile) -> None:
        """Write to ``file``; ``create`` makes one."""
        self._file = file

    @classmethod
    def create(cls, path: Path) -> HttpDebug:
        """Begin a dump; an older one is removed, and a link is removed and not followed.

        Raises:
            SetupError: ``creating <name>: ...``.
        """
        try:
            with suppress(FileNotFoundError):
                path.unlink()
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else "no file has such a name"
            raise SetupError(f"creating {path.name}: the older one stays: {reason}") from exc
        return cls(PrivateFile.create(path, what=path.name))

    @property
    def middleware(self) -> HttpMiddleware:
        """Return what a provider shows its HTTP attempts to."""
        return self._show

    def take_failure(self) -> str:
        """Return why something could not be written, once; empty while everything was."""
        return self._file.take_failure()

    async def close(self) -> None:
        """Close the file; what comes later is dropped."""
        await self._file.close()

    async def _show(self, request: HttpRequest, call: HttpCall) -> HttpResponse:
        await self._write(f"HTTP request: {request.method} {request.url}", request.body)
        response = await call(request)
        status = f"{response.status} {response.reason}".rstrip()
        body = response.error.encode() if response.body is None else response.body
        await self._write(f"HTTP response: {status}", body)
        return response

    async def _write(self, title: str, body: bytes | None) -> None:
        await self._file.append(lambda: f"\n=== {title} ===\n".encode() + _shown(body or b""))


def _shown(body: bytes) -> bytes:
    try:
        return msgspec.json.format(body) + b"\n"
    except (msgspec.DecodeError, RecursionError):
        return body + b"\n"
