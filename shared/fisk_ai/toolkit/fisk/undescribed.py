"""What is said of a program that did not describe itself: how it ended, and what it printed.

What a program prints is bounded and cleaned, and of all of it the part is shown that helps.
"""

from __future__ import annotations

import re
from pathlib import Path

from fisk_ai.text import sanitise
from fisk_ai.text.trim import first_bytes
from fisk_ai.toolkit.fisk import unstartable

FLAG = "--fisk-introspect"

USAGE_STATUS = 2
"""How programs of every command-line library end that was called in a way they do not know."""

NOT_FOUND_STATUS = 127
"""How env ends that looked for an interpreter in vain."""

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

SILENT = (
    "it printed nothing; does its entry point call run(app) of fisk_ai.adapters.typer or "
    "fisk_ai.adapters.click, as one written with Typer or Click has to?"
)
_QUIET = "let the program print nothing when it is imported and before it describes itself"
_DOCUMENT = re.compile(rb"\n[ \t]*\{")
"""Where a document begins behind other lines."""
_IMPORT_HINT = "; activate its environment, or install the program where it runs"
_TRACEBACK = re.compile(r"Traceback \(most recent call last\).*\n(?:(?:[ \t].*)?\n)*(\S.*)")
"""The frames of a traceback are indented or framed, the exception behind them is not."""


def unsuccessful(program: Path, code: int, tail: bytes) -> str:
    """Say how a program failed; ``tail`` is the end of what it printed."""
    if code == NOT_FOUND_STATUS and unstartable.names_interpreter_with_return(program):
        return unstartable.WINDOWS_LINES
    status = "a signal" if code < 0 else f"status {code}"
    said = _exception(tail) or end(tail)
    foreign = f"{_FOREIGN}: " if _is_foreign(said) else ""
    return f"{foreign}it ended with {status}{quoted(said)}{_hint(said, code)}"


def undecoded(raw: bytes, tail: bytes, problem: str) -> str:
    """Say what is wrong with a document, or that other text stands in front of it."""
    if raw.lstrip().startswith(b"{"):
        return f"{problem}{quoted(end(tail))}"
    head = first_bytes(raw, TAIL_BYTES)
    document = _DOCUMENT.search(head)
    if document is None:
        said = _start(head, EXCERPT)
        return f"{problem}{quoted(said)}{_FOREIGN_HINT if _is_foreign(said) else ''}"
    said = _start(head[: document.start()], BEGINNING)
    return f"other text stands before it{quoted(said)}; {_QUIET}"


def quoted(text: str) -> str:
    """Return what a program said in brackets, nothing for nothing."""
    return f" (it printed: {text})" if text else ""


def _start(raw: bytes, limit: int) -> str:
    """Return how the output begins: a warning in front of a document spoils it."""
    return sanitise.for_terminal(_plain(raw), limit)


def end(raw: bytes) -> str:
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
