"""What a wrapped program does when it is called: describe itself, or run."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fisk_ai.adapters import document
from fisk_ai.adapters.arguments import rearrange
from fisk_ai.adapters.program import Program, check
from fisk_ai.errors import RefusedError

INTROSPECT: Final = "--fisk-introspect"


def prepare(
    read: Callable[[str], Program], arguments: Sequence[str] | None, *, name: str
) -> list[str]:
    """Return the arguments to run the program with; ends the process after describing it.

    ``read`` is given the program's name and returns the program as an agent sees it.

    Raises:
        RefusedError: an agent would misunderstand the program; for its author to see.
        SystemExit: the program was asked to describe itself and did.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    program = read(name or _program_name())
    check(program)
    if given == [INTROSPECT]:
        sys.stdout.write(document.render(program) + "\n")
        sys.stdout.flush()
        raise SystemExit(0)
    _warn_author(program)
    return rearrange(program, given)


@contextmanager
def told_to_author() -> Generator[None]:
    """End the process with status 1 and one sentence on stderr when the program is refused.

    A traceback through this package would tell its author nothing, and an agent less.
    """
    try:
        yield
    except RefusedError as exc:
        print(f"fisk-ai: error: {exc}", file=sys.stderr)
        raise SystemExit(1) from exc


def misused(function: str, library: str, taken: str, given: object) -> RefusedError:
    """Return the refusal of what ``function`` of the adapter for ``library`` cannot run."""
    where = f"{function}() of fisk_ai.adapters.{library}"
    return RefusedError(f"{where} takes {taken}, not {_described(given)}")


def _described(given: object) -> str:
    """Say what a thing is, and which adapter runs it, should one do so."""
    if is_command(given):
        return "a Click command: use fisk_ai.adapters.click"
    if hasattr(given, "registered_commands"):
        return "a Typer program: use fisk_ai.adapters.typer"
    if hasattr(given, "add_subparsers") and not inspect.isclass(given):
        return "an argparse parser: use fisk_ai.adapters.argparse"
    if inspect.isroutine(given) or inspect.isclass(given):
        kind = "class" if inspect.isclass(given) else "function"
        return f"the {kind} {given.__name__}: make it a command of the library first"
    return "nothing" if given is None else f"a value of type {type(given).__name__}"


def is_command(given: object) -> bool:
    """Say whether something is a command of Click, or of the copy that Typer carries."""
    return hasattr(given, "params") and callable(getattr(given, "main", None))


def _warn_author(program: Program) -> None:
    # Standard error is part of what a model reads, so only a person at a terminal is told.
    if os.environ.get("FISK_AI") or not sys.stderr.isatty():
        return
    for warning in program.warnings:
        print(f"fisk-ai: {warning}; agents will not use it", file=sys.stderr)


def _program_name() -> str:
    path = Path(sys.argv[0])
    return path.parent.name if path.name == "__main__.py" else path.name.removesuffix(".py")
