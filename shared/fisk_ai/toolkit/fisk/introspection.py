"""Asking an application to describe itself, within bounds, and saying exactly why it failed.

The document is read whole or not at all: half of it would be another set of tools. The checks
stand in a fixed order, so that a program that was killed or failed is never reported as bad JSON.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from fisk_ai.errors import SetupError, ToolError
from fisk_ai.text import sanitise
from fisk_ai.text.duration import go_duration
from fisk_ai.toolkit.environment import child_environment
from fisk_ai.toolkit.fisk import process, unstartable
from fisk_ai.toolkit.fisk.document import Application, decode

FLAG = "--fisk-introspect"

TIMEOUT_S = 30.0
"""How long a program may take to describe itself; it does no work for that."""

USAGE_STATUS = 2
"""How programs of every command-line library end that was called in a way they do not know."""

NOT_FOUND_STATUS = 127
"""How env ends that looked for an interpreter in vain."""

SIZE_LIMIT_BYTES = 16_777_216
"""Far beyond any real tree of commands; a program that prints more prints something else."""

EXCERPT = 400
"""Code points of output quoted in an error: the last lines of a failure, or a warning."""

BEGINNING = 100
"""Code points quoted of text in front of a document: enough to find the line that prints it."""

TAIL_BYTES = 16_384
"""Bytes looked at for that: the frame around a message may take many times its size."""

_FRAME = dict.fromkeys(range(0x2500, 0x25A0), " ")
"""Box drawing and blocks, which programs put around their errors."""

_TYPER_HINT = (
    "; a program written with Typer or Click answers once its entry point calls run(app) of "
    "fisk_ai.adapters.typer or fisk_ai.adapters.click in place of app()"
)
_ARGPARSE_HINT = (
    "; a program written with argparse answers once it calls parse_args(parser) of "
    "fisk_ai.adapters.argparse in place of parser.parse_args()"
)
_HINTS = {
    "no such option": _TYPER_HINT,
    "unexpected extra argument": _TYPER_HINT,
    "unrecognized arguments": _ARGPARSE_HINT,
    "arguments are required": _ARGPARSE_HINT,
}
"""What programs that do not know the flag say of it, and what their authors can do."""


_FOREIGN = "it does not describe itself"
_FOREIGN_HINT = (
    "; name a program that answers --fisk-introspect, or write one around it: with Typer, Click or "
    "argparse, and an adapter of fisk_ai.adapters"
)
"""A program that was written for something else repeats the flag when it refuses it."""

_SILENT = (
    "it printed nothing; does its entry point call run(app) of fisk_ai.adapters.typer or "
    "fisk_ai.adapters.click, as one written with Typer or Click has to?"
)
_QUIET = "let the program print nothing when it is imported and before it describes itself"
_DOCUMENT = re.compile(rb"\n[ \t]*\{")
"""Where a document begins behind other lines."""
_IMPORT_HINT = "; activate its environment, or install the program where it runs"
_TRACEBACK = re.compile(r"Traceback \(most recent call last\).*\n(?:(?:[ \t].*)?\n)*(\S.*)")
"""The frames of a traceback are indented or framed, the exception behind them is not."""


class _Capped:
    """Keeps output up to the limit and counts the rest, so that the program never blocks.

    The end is kept besides, whatever lies before it: there a program says why it failed.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self.tail = b""
        self.total = 0

    def write(self, data: bytes) -> None:
        self.total += len(data)
        self._kept += data[: SIZE_LIMIT_BYTES - len(self._kept)]
        self.tail = (self.tail + data)[-TAIL_BYTES:]

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
        why = await asyncio.to_thread(_unsuccessful, program, ended.code, output.tail)
        raise _failed(program, why)
    if output.total > SIZE_LIMIT_BYTES:
        raise _failed(program, f"its document is over the limit of {SIZE_LIMIT_BYTES} bytes")
    raw = output.bytes()
    if not raw.strip():
        raise _failed(program, _SILENT)
    try:
        return await asyncio.to_thread(decode, raw)
    except ValueError as exc:
        why = _undecoded(raw, output.tail, str(exc))
        raise _failed(program, f"decoding the introspection document failed: {why}") from exc


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
            f"it timed out; the program has to answer {FLAG} within {window}"
            f"{_quoted(_end(output.tail))}",
        ) from exc
    except ToolError as exc:
        raise SetupError(f"application_path: {exc}", key="application_path") from exc


def _unsuccessful(program: Path, code: int, tail: bytes) -> str:
    if code == NOT_FOUND_STATUS and unstartable.names_interpreter_with_return(program):
        return unstartable.WINDOWS_LINES
    status = "a signal" if code < 0 else f"status {code}"
    said = _exception(tail) or _end(tail)
    foreign = f"{_FOREIGN}: " if _is_foreign(said) else ""
    return f"{foreign}it ended with {status}{_quoted(said)}{_hint(said, code)}"


def _undecoded(raw: bytes, tail: bytes, problem: str) -> str:
    """Say what is wrong with the document, or that other text stands in front of it."""
    if raw.lstrip().startswith(b"{"):
        return f"{problem}{_quoted(_end(tail))}"
    head = raw[:TAIL_BYTES]
    document = _DOCUMENT.search(head)
    if document is None:
        said = _start(head, EXCERPT)
        return f"{problem}{_quoted(said)}{_FOREIGN_HINT if _is_foreign(said) else ''}"
    said = _start(head[: document.start()], BEGINNING)
    return f"other text stands before it{_quoted(said)}; {_QUIET}"


def _failed(program: Path, why: str) -> SetupError:
    return SetupError(f"introspecting {program} failed: {why}", key="application_path")


def _quoted(text: str) -> str:
    return f" (it printed: {text})" if text else ""


def _start(raw: bytes, limit: int) -> str:
    """Return how the output begins: a warning in front of a document spoils it."""
    return sanitise.for_terminal(_plain(raw), limit)


def _end(raw: bytes) -> str:
    """Return how the output ends, in one line, without frames and escapes."""
    line = sanitise.for_terminal(_plain(raw), TAIL_BYTES)
    if len(line) <= EXCERPT:
        return line
    tail = line[-EXCERPT:]
    return "…" + (tail.partition(" ")[2] or tail)


def _plain(raw: bytes) -> str:
    return raw.decode(errors="replace").translate(_FRAME)


def _exception(raw: bytes) -> str:
    """Return what a Python traceback ends with, of which the frames say nothing to a user."""
    found = _TRACEBACK.findall(sanitise.for_display(_plain(raw)))
    return sanitise.for_terminal(found[-1], EXCERPT) if found else ""


def _hint(said: str, status: int) -> str:
    """Return what to do: its packages are missing, or it took the flag for a user's mistake."""
    if said.startswith(("ModuleNotFoundError:", "ImportError:")):
        return _IMPORT_HINT
    lowered = said.lower() if status == USAGE_STATUS else ""
    other = _FOREIGN_HINT if _is_foreign(said) else ""
    return next((hint for words, hint in _HINTS.items() if words in lowered), other)


def _is_foreign(said: str) -> bool:
    return FLAG.lstrip("-") in said
