"""From a model's arguments to the words of a command line, without a shell and without guessing.

Every flag is one ``--name=value`` word, so a value that starts with a dash stays a value; every
positional stands behind ``--``, where the application's framework expands nothing (before it, a
word like ``@file`` would be replaced by the lines of that file). Values are not judged here: the
application knows its types. The exact table is in ``docs/reference/tools.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fisk_ai.errors import ToolError
from fisk_ai.toolkit.arguments import Number, Value, kind_of
from fisk_ai.toolkit.fisk.document import Arg, Flag

COUNTER_LIMIT = 16
"""How often a counting flag may be repeated; more is a model's mistake, not a verbosity."""

END_OF_FLAGS = "--"

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_COUNT = re.compile(r"\d{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """What one command takes. ``advertised`` are the names its schema shows: no others count.

    ``unnamed`` are the hidden arguments that share a flag's name: a key means the flag.
    """

    path: tuple[str, ...]
    global_flags: tuple[Flag, ...]
    flags: tuple[Flag, ...]
    args: tuple[Arg, ...]
    advertised: frozenset[str]
    unnamed: frozenset[str] = frozenset()

    @property
    def command(self) -> str:
        """Return the command in words."""
        return " ".join(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The words of one call in three parts; ``positionals`` come behind ``--``."""

    path: tuple[str, ...]
    flags: tuple[str, ...]
    positionals: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """Return all words in order, without the program."""
        tail = [END_OF_FLAGS, *self.positionals] if self.positionals else []
        return [*self.path, *self.flags, *tail]


def render(syntax: Syntax, given: Mapping[str, Value]) -> Line:
    """Return the command line of one call.

    Raises:
        ToolError: an argument the command does not take, or takes otherwise; names both.
    """
    context = f'building global flags for "{syntax.command}"'
    flags = _flag_words(context, syntax.global_flags, given)
    context = f'building command line for "{syntax.command}"'
    _refuse_unknown(context, syntax, given)
    flags += _flag_words(context, syntax.flags, given)
    named = {key: value for key, value in given.items() if key not in syntax.unnamed}
    return Line(
        path=syntax.path,
        flags=tuple(flags),
        positionals=tuple(_positional_words(context, syntax.args, named)),
    )


def _refuse_unknown(context: str, syntax: Syntax, given: Mapping[str, Value]) -> None:
    known = {item.name for item in (*syntax.global_flags, *syntax.flags, *syntax.args)}
    known &= syntax.advertised
    for key in sorted(given):
        if key not in known:
            raise ToolError(f'{context}: unknown property "{key}"')


def _flag_words(context: str, flags: Sequence[Flag], given: Mapping[str, Value]) -> list[str]:
    words: list[str] = []
    for flag in flags:
        if flag.name not in given:
            continue
        where = f'{context}: flag "{flag.name}"'
        render_one = _boolean_words if flag.boolean else _value_words
        words += render_one(where, flag, given[flag.name])
    return words


def _boolean_words(where: str, flag: Flag, value: Value) -> list[str]:
    if flag.cumulative:
        return [f"--{flag.name}"] * _count(where, value)
    if not isinstance(value, bool):
        raise ToolError(f"{where}: expected boolean, got {kind_of(value)}")
    if value:
        return [f"--{flag.name}"]
    if flag.negatable:
        return [f"--no-{flag.name}"]
    if not _TRUE.isdisjoint(flag.default):
        raise ToolError(f"{where}: cannot be set to false, it has no negation and defaults to true")
    return []


def _count(where: str, value: Value) -> int:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Number) and _COUNT.fullmatch(value) and int(value) <= COUNTER_LIMIT:
        return int(value)
    raise ToolError(f"{where}: expected boolean, got {kind_of(value)}")


def _value_words(where: str, flag: Flag, value: Value) -> list[str]:
    name = f"--{flag.name}="
    match value:
        case list():
            return [name + _scalar(where, item) for item in value]
        case dict():
            return [f"{name}{key}={_scalar(where, value[key])}" for key in sorted(value)]
        case _:
            return [name + _scalar(where, value)]


def _scalar(where: str, value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
        case _:
            raise ToolError(f"{where}: unsupported value type {kind_of(value)}")


def _positional_words(context: str, args: Sequence[Arg], given: Mapping[str, Value]) -> list[str]:
    for arg in args[:-1]:
        if arg.cumulative:
            raise ToolError(
                f'{context}: argument "{arg.name}" takes several values and is not the last one'
            )
    last = max((index for index, arg in enumerate(args) if arg.name in given), default=-1)
    words: list[str] = []
    for arg in args[: last + 1]:
        words += _argument_words(f'{context}: argument "{arg.name}"', arg, given)
    return words


def _argument_words(where: str, arg: Arg, given: Mapping[str, Value]) -> list[str]:
    words = _supplied_words(where, given[arg.name]) if arg.name in given else [*arg.default]
    if arg.name not in given and not words:
        raise ToolError(f"{where}: must be set because a later one is set")
    if END_OF_FLAGS in words:
        raise ToolError(
            f'{where}: the value "--" cannot be passed, the application would drop it and move '
            "the values behind it"
        )
    return words


def _supplied_words(where: str, value: Value) -> list[str]:
    if isinstance(value, list):
        return [_scalar(where, item) for item in value]
    return [_scalar(where, value)]
