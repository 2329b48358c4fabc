"""Reading the command tree of Click and of Typer.

Typer was built on Click and now carries a copy of its own, so the two share names and no classes.
Only the names are used here, and no library is imported. Table: ``docs/reference/adapters.md``.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, cast, get_args

from fisk_ai.adapters.program import Command, Kind, Parameter, Program
from fisk_ai.adapters.tags import tags_of

_FRAMEWORK: Final = frozenset({"help", "install-completion", "show-completion"})
_KINDS: Final[Mapping[str, Kind]] = {
    "integer": "integer",
    "integer range": "integer",
    "float": "number",
    "float range": "number",
    "boolean": "boolean",
}
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


class ClickContext(Protocol):
    """What a group needs to list its commands."""


class ClickCommand(Protocol):
    """A command of either library."""

    name: str | None
    help: str | None
    params: Sequence[object]
    hidden: bool
    deprecated: bool | str
    callback: object


class Reader:
    """Reads one tree and collects what its author should know."""

    def __init__(self) -> None:
        """Start with nothing to say."""
        self.warnings: list[str] = []

    def program(self, root: ClickCommand, *, name: str, version: str) -> Program:
        """Read the whole program."""
        children = _children(root)
        if not children:
            return self._single(root, name, version)
        commands = tuple(self.command(key, child, (key,)) for key, child in children.items())
        return Program(
            name=name,
            help=_help(root)[0],
            version=version,
            options=self._options(root, name, is_root=True),
            commands=commands,
            warnings=tuple(self.warnings),
        )

    def _single(self, root: ClickCommand, name: str, version: str) -> Program:
        command = self.command(_UNSAFE.sub("_", name), root, (name,), is_root=True)
        return Program(
            name=name,
            help=command.help,
            version=version,
            commands=(command,),
            is_single=True,
            warnings=tuple(self.warnings),
        )

    def command(
        self, name: str, source: ClickCommand, path: tuple[str, ...], *, is_root: bool = False
    ) -> Command:
        """Read a command and what is below it."""
        words = " ".join(path)
        children = _children(source)
        options = self._options(source, words, is_root=is_root)
        if children:
            self._warn_unreachable(words, options)
        short, long = _help(source)
        return Command(
            name=name,
            help=short,
            help_long=long,
            is_hidden=bool(source.hidden),
            tags=tags_of(source, source.callback),
            options=options,
            arguments=tuple(_argument(item) for item in source.params if not _is_option(item)),
            commands=tuple(
                self.command(key, child, (*path, key)) for key, child in children.items()
            ),
        )

    def _warn_unreachable(self, words: str, options: Iterable[Parameter]) -> None:
        for option in options:
            if option.is_required:
                text = f"{words}: required option --{option.name} of a group cannot be given"
                self.warnings.append(text)

    def _options(self, source: ClickCommand, words: str, *, is_root: bool) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        for item in source.params:
            if not _is_option(item) or _is_framework(item, is_root=is_root):
                continue
            name = _long_name(item)
            if not name:
                self.warnings.append(f"{words}: option {_spelled(item)} has no long form")
            elif _get(item, "nargs", 1) != 1:
                self.warnings.append(f"{words}: option --{name} takes several words at once")
            else:
                found.append(_option(item, name))
        return tuple(found)


def _get(item: object, name: str, missing: object = None) -> object:
    return getattr(item, name, missing)


def _children(source: ClickCommand) -> dict[str, ClickCommand]:
    commands = _get(source, "commands")
    found = dict(cast("Mapping[str, ClickCommand]", commands)) if commands else {}
    if hasattr(source, "list_commands"):
        found |= _listed(source, found)
    return found


def _listed(source: object, known: Mapping[str, object]) -> dict[str, ClickCommand]:
    """Return the commands that a group makes up only when it is asked."""
    group = cast("_Group", source)
    context = group.context_class(group, info_name=group.name)
    names = [name for name in group.list_commands(context) if name not in known]
    made = {name: group.get_command(context, name) for name in names}
    return {name: command for name, command in made.items() if command is not None}


class _Group(Protocol):
    name: str | None

    def context_class(self, command: object, *, info_name: str | None) -> ClickContext: ...
    def list_commands(self, ctx: ClickContext) -> Sequence[str]: ...
    def get_command(self, ctx: ClickContext, cmd_name: str) -> ClickCommand | None: ...


def _help(source: ClickCommand) -> tuple[str, str]:
    """Return the first paragraph as one line, and the whole text where there is more."""
    text = inspect.cleandoc((source.help or "").split("\f")[0])
    first, _, rest = text.partition("\n\n")
    short = " ".join(first.split())
    if source.deprecated:
        reason = f": {source.deprecated}" if isinstance(source.deprecated, str) else ""
        short = f"{short} (deprecated{reason})".strip()
    return short, text if rest.strip() else ""


def _is_option(item: object) -> bool:
    return _get(item, "param_type_name") == "option"


def _is_framework(item: object, *, is_root: bool) -> bool:
    """Say whether an option is the library's: it prints something and ends the program."""
    name = _long_name(item)
    if name == "version" and _get(item, "is_flag"):
        return is_root or bool(_get(item, "is_eager"))
    return name in _FRAMEWORK


def _strings(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [_text(item) for item in cast("Sequence[object]", value)]
    return []


def _long_name(item: object) -> str:
    names = [name[2:] for name in _strings(_get(item, "opts")) if name.startswith("--")]
    return max(names, key=len, default="")


def _short(item: object) -> str:
    for name in _strings(_get(item, "opts")):
        if len(name) == 2 and name.startswith("-") and name != "--":
            return name[1]
    return ""


def _spelled(item: object) -> str:
    return " ".join(_strings(_get(item, "opts")))


def _option(item: object, name: str) -> Parameter:
    is_flag = bool(_get(item, "is_flag")) or bool(_get(item, "count"))
    kind: Kind = "boolean" if is_flag else _kind(item)
    defaults = _defaults(item)
    if is_flag:
        defaults = ("true",) if _get(item, "default") is True else ()
    is_prompted = _get(item, "prompt") is not None and not defaults and not is_flag
    is_required = bool(_get(item, "required")) or is_prompted
    return Parameter(
        name=name,
        help=str(_get(item, "help") or ""),
        kind=kind,
        choices=() if is_flag else _choices(item),
        defaults=() if is_required else defaults,
        environment=_environment(item),
        is_required=is_required,
        is_hidden=bool(_get(item, "hidden")),
        is_cumulative=bool(_get(item, "multiple")) and not is_flag,
        is_negatable=f"--no-{name}" in _strings(_get(item, "secondary_opts")),
        short=_short(item),
    )


def _argument(item: object) -> Parameter:
    is_required = bool(_get(item, "required"))
    return Parameter(
        name=str(_get(item, "name") or ""),
        help=str(_get(item, "help") or ""),
        kind=_kind(item),
        choices=_choices(item),
        defaults=() if is_required else _defaults(item),
        environment=_environment(item),
        is_required=is_required,
        is_hidden=bool(_get(item, "hidden")),
        is_cumulative=_get(item, "nargs", 1) != 1,
    )


def _environment(item: object) -> str:
    value = _get(item, "envvar")
    names = [value] if isinstance(value, str) else _strings(value)
    return names[0] if names else ""


def _kind(item: object) -> Kind:
    described = _get(item, "type_descriptor")
    if described is None:
        return _KINDS.get(str(_get(_get(item, "type"), "name")), "string")
    annotation = _get(described, "annotation")
    if _get(described, "is_list"):
        annotation = next(iter(get_args(annotation)), str)
    if annotation is bool:
        return "boolean"
    if annotation is int:
        return "integer"
    return "number" if annotation is float else "string"


def _choices(item: object) -> tuple[str, ...]:
    described = _get(item, "type_descriptor")
    if described is not None:
        return tuple(_strings(_get(described, "choices")))
    choices = _get(_get(item, "type"), "choices")
    if not isinstance(choices, Iterable):
        return ()
    named = cast("Iterable[object]", choices)
    # Click reads an enumeration by its names, Typer by its values.
    return tuple(one.name if isinstance(one, enum.Enum) else str(one) for one in named)


def _defaults(item: object) -> tuple[str, ...]:
    value = _get(item, "default")
    if value is None or callable(value) or type(value).__module__ == "click._utils":
        return ()  # none, made at run time, or Click's own mark for none
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(_text(one) for one in cast("Iterable[object]", value))
    return (_text(value),)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value) if isinstance(value, enum.Enum) else str(value)
