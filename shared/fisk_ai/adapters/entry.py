"""What a wrapped program does when it is called: describe itself, or run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fisk_ai.adapters import document
from fisk_ai.adapters.arguments import rearrange
from fisk_ai.adapters.program import Program, check
from fisk_ai.adapters.reading import ClickCommand, Reader

INTROSPECT: Final = "--fisk-introspect"


def prepare(
    root: ClickCommand, arguments: Sequence[str] | None, *, name: str, version: str
) -> list[str]:
    """Return the arguments to run the program with; ends the process after describing it.

    Raises:
        RefusedError: an agent would misunderstand the program; for its author to see.
        SystemExit: the program was asked to describe itself and did.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    program = Reader().program(root, name=name or _program_name(), version=version)
    check(program)
    if given == [INTROSPECT]:
        sys.stdout.write(document.render(program) + "\n")
        sys.stdout.flush()
        raise SystemExit(0)
    _warn_author(program)
    return rearrange(program, given)


def _warn_author(program: Program) -> None:
    # Standard error is part of what a model reads, so only a person at a terminal is told.
    if os.environ.get("FISK_AI") or not sys.stderr.isatty():
        return
    for warning in program.warnings:
        print(f"fisk-ai: {warning}; agents will not use it", file=sys.stderr)


def _program_name() -> str:
    path = Path(sys.argv[0])
    return path.parent.name if path.name == "__main__.py" else path.name.removesuffix(".py")
