"""A file that holds a conversation: its owner's alone, never over another, written in order.

Lines are made and written in one thread of the file's own, so that a large body or a slow disk
holds up no run. The first failure ends the writing: a file with a hole would mislead its reader.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from fisk_ai.errors import SetupError
from fisk_ai.text.sanitise import for_terminal

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OWNER_ALONE: Final = 0o600
_PATH_LIMIT: Final = 400


class PrivateFile:
    """Takes what is appended until it is closed; what comes later is dropped."""

    __slots__ = ("_descriptor", "_failure", "_is_broken", "_is_closed", "_path", "_writer")

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take over an open descriptor; ``create`` makes one."""
        self._path = path
        self._descriptor = descriptor
        self._failure = ""
        self._is_broken = False
        self._is_closed = False
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="private-file")

    @classmethod
    def create(cls, path: Path, *, what: str, opening: bytes = b"") -> PrivateFile:
        """Make a new file of mode 0600 that begins with ``opening``; no link is followed.

        Raises:
            SetupError: it is there already, or cannot be made or written; the text begins with
                ``creating <what>:``.
        """
        shown = for_terminal(str(path), _PATH_LIMIT)
        try:
            file = cls(path, os.open(path, _FLAGS, _OWNER_ALONE))
            _write_all(file._descriptor, opening)
            return file
        except FileExistsError as exc:
            text = f'creating {what}: "{shown}" exists; remove it or name another file'
            raise SetupError(text) from exc
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else "no file has such a name"
            raise SetupError(f'creating {what}: "{shown}": {reason}') from exc

    async def append(self, make: Callable[[], bytes]) -> None:
        """Write what ``make`` returns in a thread; never raises for a file that fails."""
        if not self._is_closed:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._writer, self._write, make)

    def take_failure(self) -> str:
        """Return why something could not be written, once; empty while everything was."""
        failure, self._failure = self._failure, ""
        return failure

    async def close(self) -> None:
        """Write what was appended before and close; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        await asyncio.get_running_loop().run_in_executor(self._writer, self._close)
        self._writer.shutdown(wait=False)

    def _write(self, make: Callable[[], bytes]) -> None:
        if self._is_broken:
            return
        try:
            _write_all(self._descriptor, make())
        except OSError as exc:
            self._is_broken = True
            self._note(exc)

    def _close(self) -> None:
        try:
            os.close(self._descriptor)
        except OSError as exc:
            self._note(exc)

    def _note(self, error: OSError) -> None:
        shown = for_terminal(str(self._path), _PATH_LIMIT)
        self._failure = self._failure or f'"{shown}": {error.strerror}'


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
