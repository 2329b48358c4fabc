"""Asking an application to describe itself, within bounds, and saying exactly why it failed.

The document is read whole or not at all: half of it would be another set of tools. The checks
stand in a fixed order, so that a program that was killed or failed is never reported as bad JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from fisk_ai.errors import SetupError, ToolError
from fisk_ai.text import sanitise
from fisk_ai.text.duration import go_duration
from fisk_ai.toolkit.environment import child_environment
from fisk_ai.toolkit.fisk import process
from fisk_ai.toolkit.fisk.document import Application, decode

FLAG = "--fisk-introspect"

TIMEOUT_S = 30.0
"""How long a program may take to describe itself; it does no work for that."""

SIZE_LIMIT_BYTES = 16_777_216
"""Far beyond any real tree of commands; a program that prints more prints something else."""

EXCERPT = 300
"""Code points of unreadable output shown in an error: the first line of noise is in there."""


class _Capped:
    """Keeps output up to the limit and counts the rest, so that the program never blocks."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.total = 0

    def write(self, data: bytes) -> None:
        self.total += len(data)
        self._kept += data[: SIZE_LIMIT_BYTES - len(self._kept)]

    def bytes(self) -> bytes:
        return bytes(self._kept)


async def introspect(
    program: Path,
    *,
    environ: Mapping[str, str],
    directory: Path | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Application:
    """Run ``program`` with the flag that makes it describe itself, and read what it prints.

    ``directory`` is where it runs; ``None`` stands for the working directory of this process.

    Raises:
        SetupError: it did not answer in time, failed, printed too much or no such document.
    """
    output = _Capped()
    ended = await _run(program, environ, directory, timeout_s, output)
    if not ended.drained:
        raise _failed(program, "it ended while another process kept its output open")
    if ended.code != 0:
        status = "a signal" if ended.code < 0 else f"status {ended.code}"
        raise _failed(program, f"it ended with {status}{_shown(output.bytes())}")
    if output.total > SIZE_LIMIT_BYTES:
        raise _failed(program, f"its document is over the limit of {SIZE_LIMIT_BYTES} bytes")
    raw = output.bytes()
    try:
        return await asyncio.to_thread(decode, raw)
    except ValueError as exc:
        raise _failed(
            program, f"decoding the introspection document failed: {exc}{_shown(raw)}"
        ) from exc


async def _run(
    program: Path,
    environ: Mapping[str, str],
    directory: Path | None,
    timeout_s: float,
    output: _Capped,
) -> process.Exit:
    try:
        async with asyncio.timeout(timeout_s):
            return await process.run(
                [str(program), FLAG],
                environ=child_environment(environ, work_dir=None, call_ref=""),
                directory=directory,
                sink=output.write,
            )
    except TimeoutError as exc:
        window = go_duration(timeout_s)
        raise _failed(
            program,
            f"it timed out; the program has to answer {FLAG} within {window}",
        ) from exc
    except ToolError as exc:
        raise SetupError(
            f"{exc}; application_path has to name a program that runs here", key="application_path"
        ) from exc


def _failed(program: Path, why: str) -> SetupError:
    return SetupError(f"introspecting {program} failed: {why}", key="application_path")


def _shown(raw: bytes) -> str:
    """Quote the beginning of what was printed: a warning on stderr lands there."""
    text = sanitise.for_terminal(raw[: 4 * EXCERPT].decode(errors="replace"), EXCERPT)
    return f" (it printed: {text})" if text else ""
