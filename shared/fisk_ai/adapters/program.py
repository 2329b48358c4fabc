"""A command-line program as an agent sees it, whatever library it was written with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from fisk_ai.errors import RefusedError

Kind = Literal["string", "integer", "number", "boolean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An option or a positional argument.

    ``defaults`` are the strings a person would type. ``choices`` is empty for a free value.
    ``is_negatable`` means that ``--no-NAME`` exists. The last two are for options only.
    """

    name: str
    help: str = ""
    kind: Kind = "string"
    choices: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    environment: str = ""
    is_required: bool = False
    is_hidden: bool = False
    is_cumulative: bool = False
    is_negatable: bool = False
    short: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command, or a group when ``commands`` is not empty."""

    name: str
    help: str = ""
    help_long: str = ""
    is_hidden: bool = False
    tags: tuple[str, ...] = ()
    options: tuple[Parameter, ...] = ()
    arguments: tuple[Parameter, ...] = ()
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A whole program; ``options`` are those of its root.

    A program without sub-commands has one command that is called like the program itself:
    ``is_single`` says so. ``warnings`` tell its author what an agent will not be able to use.
    """

    name: str
    help: str = ""
    version: str = ""
    options: tuple[Parameter, ...] = ()
    commands: tuple[Command, ...] = ()
    is_single: bool = False
    warnings: tuple[str, ...] = field(default=())


def check(program: Program) -> None:
    """Refuse a program that an agent would misunderstand.

    Raises:
        RefusedError: two commands that give one tool name, a tag that is no word, two parameters of
            one name, or a repeatable argument that is not the last.
    """
    paths: dict[str, str] = {}
    for path, command in leaves(program.commands):
        words = " ".join(path)
        tool = "_".join(path)
        if tool in paths:
            raise RefusedError(
                f"commands {paths[tool]!r} and {words!r} would both be the tool {tool}; rename one"
            )
        paths[tool] = words
        _check_tags(words, command)
        _check_parameters(words, command)


def leaves(
    commands: tuple[Command, ...], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield each visible command that does something, with its path."""
    for command in commands:
        if command.is_hidden:
            continue
        path = (*above, command.name)
        if command.commands:
            yield from leaves(command.commands, path)
        else:
            yield path, command


def _check_tags(words: str, command: Command) -> None:
    for tag in command.tags:
        if tag.split() != [tag]:
            raise RefusedError(
                f"{words!r} has the tag {tag!r}: a tag is one word such as ai:confirm"
            )


def _check_parameters(words: str, command: Command) -> None:
    for argument in command.arguments[:-1]:
        if argument.is_cumulative:
            raise RefusedError(
                f"argument {argument.name} of {words!r} takes several values and is not the last;"
                " make it the last one or an option"
            )
    names: set[str] = set()
    for parameter in (*command.arguments, *command.options):
        if parameter.name in names:
            raise RefusedError(f"{words!r} has two parameters named {parameter.name}; rename one")
        names.add(parameter.name)
