"""From the tree of commands to named leaves: what becomes a tool, and under which name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import UNSET

from fisk_ai.errors import SetupError
from fisk_ai.toolkit import tags
from fisk_ai.toolkit.contract import TOOL_NAME
from fisk_ai.toolkit.fisk.document import Arg, Command, Flag
from fisk_ai.toolkit.nesting import TOO_DEEP, is_too_deep


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """A command that can be called; ``schema`` is the application's own, never changed.

    ``tool_name`` is the path as one name. ``tags`` are the command's own, and behind them those
    that its groups lay on it.
    """

    path: tuple[str, ...]
    tool_name: str
    help: str
    help_long: str
    tags: tuple[str, ...]
    schema: Mapping[str, object]
    flags: tuple[Flag, ...]
    args: tuple[Arg, ...]

    @property
    def command(self) -> str:
        """Return the path in words."""
        return " ".join(self.path)

    @property
    def description(self) -> str:
        """Return the help for people."""
        return self.help or self.help_long

    @property
    def model_description(self) -> str:
        """Return short and long help together, then the tags, so that prompts can name them."""
        text = combined_help(self.help, self.help_long)
        if not self.tags:
            return text
        tagged = "Tags: " + ", ".join(self.tags)
        return f"{text}\n\n{tagged}" if text else tagged


def combined_help(short: str, long: str) -> str:
    """Join both texts, unless one of them says all the other does."""
    if short in long:
        return long
    if long in short:
        return short
    return f"{short}\n\n{long}"


def leaves(commands: Sequence[Command], program: Path) -> list[Leaf]:
    """Return every visible leaf, depth first in declared order.

    Raises:
        SetupError: a visible leaf carries no schema, or one too deep, whether it would be selected
            or not; names it and the ``program`` that printed it.
    """
    found: list[Leaf] = []
    for command, above in _visible_leaves(commands, _Above()):
        path = (*above.path, command.name)
        if command.restricted_schema is UNSET:
            raise SetupError(
                f'{program}: command "{_shown(path)}" has no precomputed schema; rebuild '
                "the application with a current fisk (v0.9.0 or newer) so that it prints one",
                key="application_path",
            )
        found.append(_leaf(path, above, command, command.restricted_schema))
    if is_too_deep(*(leaf.schema for leaf in found)):
        deep = next(leaf for leaf in found if is_too_deep(leaf.schema))
        raise SetupError(
            f'{program}: the schema of command "{_shown(deep.path)}" {TOO_DEEP}',
            key="application_path",
        )
    return found


def idle_group_tags(
    commands: Sequence[Command], selected: Sequence[Leaf]
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the groups above ``selected`` with reserved tags that have no effect on a group."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for path, group in _groups(commands, ()):
        idle = tags.idle_on_group(group.tags)
        if idle and any(leaf.path[: len(path)] == path for leaf in selected):
            found.append((" ".join(path), idle))
    return found


def _groups(
    commands: Sequence[Command], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Return every group that is not hidden, each before what is below it."""
    for command in commands:
        if command.commands and not command.hidden:
            path = (*above, command.name)
            yield path, command
            yield from _groups(command.commands, path)


@dataclass(frozen=True, slots=True)
class _Above:
    """What a command takes over from the groups it is in."""

    path: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def _visible_leaves(commands: Sequence[Command], above: _Above) -> Iterator[tuple[Command, _Above]]:
    for command in commands:
        if command.hidden:
            continue
        if command.commands:
            laid = tags.with_inherited(command.tags, above.tags)
            yield from _visible_leaves(command.commands, _Above((*above.path, command.name), laid))
        else:
            yield command, above


def _leaf(
    path: tuple[str, ...], above: _Above, command: Command, schema: Mapping[str, object]
) -> Leaf:
    return Leaf(
        path=path,
        tool_name="_".join(path),
        help=command.help,
        help_long=command.help_long,
        tags=tags.with_inherited(command.tags, above.tags),
        schema=schema,
        flags=command.flags,
        args=command.args,
    )


def check_names(selected: Sequence[Leaf]) -> None:
    """Refuse names that no provider takes, words that are no command, and two under one name.

    Looked at after selection, so that excluding a command is a way out.

    Raises:
        SetupError: names the path, or both paths.
    """
    claimed: dict[str, Leaf] = {}
    for leaf in selected:
        name = leaf.tool_name
        if TOOL_NAME.fullmatch(name) is None:
            raise SetupError(
                f'command "{_shown(leaf.path)}" would become the tool "{_shown((name,))}", '
                "a name that model providers refuse (1 to 128 of A-Z a-z 0-9 _ -); exclude it",
                key="exclude",
            )
        _check_words(leaf)
        if name in claimed:
            raise SetupError(
                f'commands "{_shown(claimed[name].path)}" and "{_shown(leaf.path)}" would both '
                f'become the tool "{name}"; rename or hide one of them in the application',
                key="exclude",
            )
        claimed[name] = leaf


def _shown(path: Sequence[str]) -> str:
    """Return a path in words; what a terminal would not show is escaped, or the fault is unseen."""
    text = " ".join(path)
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _check_words(leaf: Leaf) -> None:
    """Refuse a path whose words the application would read as flags, whatever follows them."""
    for word in leaf.path:
        if not word or word.startswith("-"):
            raise SetupError(
                f'command "{_shown(leaf.path)}" cannot be called: its word "{word}" would be read '
                f'as a flag or as nothing; exclude "{leaf.tool_name}", or rename it in the '
                "application",
                key="exclude",
            )
