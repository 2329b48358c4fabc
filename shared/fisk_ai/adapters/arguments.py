"""From fisk's command line to the one Click and Typer understand.

Fisk accepts an application's flags anywhere; these libraries accept the root's options only before
the first command, so they are moved there. Rules: ``docs/reference/adapters.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.adapters.program import Command, Parameter, Program


def rearrange(program: Program, arguments: Sequence[str]) -> list[str]:
    """Return the arguments in the order the program's library needs."""
    if program.is_single:
        is_named = bool(arguments) and arguments[0] == program.commands[0].name
        return list(arguments[1:] if is_named else arguments)
    depth, command = _walk(program, arguments)
    if command is None:
        return list(arguments)
    own = {option.name for option in command.options}
    moved = _spellings([option for option in program.options if option.name not in own])
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    tail = arguments[depth:end]
    front = [token for token in tail if _start(token) in moved]
    behind = [token for token in tail if _start(token) not in moved]
    return [*front, *arguments[:depth], *behind, *arguments[end:]]


def _walk(program: Program, arguments: Sequence[str]) -> tuple[int, Command | None]:
    """Return how many arguments name commands, and the command they lead to."""
    found: Command | None = None
    commands = program.commands
    for depth, word in enumerate(arguments):
        child = next((command for command in commands if command.name == word), None)
        if child is None:
            return depth, found
        found, commands = child, child.commands
    return len(arguments), found


def _spellings(options: Sequence[Parameter]) -> set[str]:
    """Return what the tokens of these options start with: a flag alone, a value with its sign."""
    found: set[str] = set()
    for option in options:
        if option.kind != "boolean":
            found.add(f"--{option.name}=")
            continue
        found.add(f"--{option.name}")
        if option.is_negatable:
            found.add(f"--no-{option.name}")
    return found


def _start(token: str) -> str:
    name, sign, _ = token.partition("=")
    return name + sign
