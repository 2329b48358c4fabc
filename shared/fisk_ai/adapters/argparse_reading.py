"""Reading the parser tree of argparse.

Its parsers say most of what they are in attributes that are private by name and have been stable
for as long as the library exists; they are looked up here alone. Table:
``docs/reference/adapters.md``.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from fisk_ai.adapters.program import Command, Kind, Parameter, Program
from fisk_ai.adapters.tags import tags_of
from fisk_ai.errors import RefusedError

Parser = argparse.ArgumentParser
Action = argparse.Action

_FRAMEWORK: Final = frozenset({"_HelpAction", "_VersionAction"})
_SWITCHES: Final = frozenset(
    {
        "_StoreTrueAction",
        "_StoreFalseAction",
        "_StoreConstAction",
        "_AppendConstAction",
        "_CountAction",
        "BooleanOptionalAction",
    }
)
_REPEATED: Final = frozenset({"_AppendAction", "_ExtendAction"})
_KINDS: Final[Mapping[object, Kind]] = {int: "integer", float: "number"}
_NOISE: Final = " (default: %(default)s)"
"""What Python before 3.13 puts behind the help of a flag with a negation."""

_PLACE: Final = re.compile(r"%(?:%|\((\w+)\)[a-z])")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


class ParserReader:
    """Reads one tree and collects what its author should know."""

    def __init__(self) -> None:
        """Start with nothing to say."""
        self.warnings: list[str] = []

    def program(self, root: Parser, *, name: str, version: str) -> Program:
        """Read the whole program.

        Raises:
            RefusedError: a parser expands ``@file`` arguments, which would let a model read files.
        """
        children = _children(root)
        if not children:
            return self._single(root, name, version)
        self._warn_root_arguments(root, name)
        return Program(
            name=name,
            help=_split(_described(root))[0],
            version=version,
            options=self._options(root, name),
            commands=tuple(self._commands(root, ())),
            warnings=tuple(self.warnings),
        )

    def _single(self, root: Parser, name: str, version: str) -> Program:
        command = self._command(_UNSAFE.sub("_", name), root, (name,), said="")
        return Program(
            name=name,
            help=command.help,
            version=version,
            commands=(command,),
            is_single=True,
            warnings=tuple(self.warnings),
        )

    def _commands(self, parser: Parser, path: tuple[str, ...]) -> Iterable[Command]:
        said = _said_of_children(parser)
        for name, child in _children(parser).items():
            yield self._command(name, child, (*path, name), said=said.get(name, ""))

    def _command(self, name: str, parser: Parser, path: tuple[str, ...], *, said: str) -> Command:
        words = " ".join(path)
        _refuse_files(parser, words)
        options = self._options(parser, words)
        children = tuple(self._commands(parser, path))
        if children:
            self._warn_unreachable(words, options)
        short, long = _help(parser, "" if said == argparse.SUPPRESS else said)
        return Command(
            name=name,
            help=short,
            help_long=long,
            is_hidden=said == argparse.SUPPRESS,
            tags=tags_of(parser, *_functions(parser)),
            options=options,
            arguments=() if children else tuple(self._arguments(parser, words)),
            commands=children,
        )

    def _warn_root_arguments(self, root: Parser, words: str) -> None:
        _refuse_files(root, words)
        for action in _actions(root):
            if not action.option_strings and _children_of(action) is None:
                self.warnings.append(f"{words}: argument {action.dest} of the root cannot be given")

    def _warn_unreachable(self, words: str, options: Iterable[Parameter]) -> None:
        for option in options:
            if option.is_required:
                text = f"{words}: required option --{option.name} of a group cannot be given"
                self.warnings.append(text)

    def _options(self, parser: Parser, words: str) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        for action in _actions(parser):
            if not action.option_strings or _is(action, _FRAMEWORK):
                continue
            name = _long_name(action)
            if not name:
                spelled = " ".join(action.option_strings)
                self.warnings.append(f"{words}: option {spelled} has no long form")
            elif not _is(action, _SWITCHES) and action.nargs not in (None, 1, argparse.OPTIONAL):
                self.warnings.append(f"{words}: option --{name} takes several words at once")
            else:
                found.append(_option(action, name, parser.prog))
        return tuple(found)

    def _arguments(self, parser: Parser, words: str) -> Iterable[Parameter]:
        for action in _actions(parser):
            if action.option_strings or _children_of(action) is not None:
                continue
            if action.nargs == argparse.REMAINDER:
                # it would swallow the -- that an agent puts in front of every argument
                self.warnings.append(f"{words}: argument {action.dest} takes the rest of the line")
            else:
                yield _argument(action, parser.prog)


def _actions(parser: Parser) -> Sequence[Action]:
    return cast("Sequence[Action]", vars(parser)["_actions"])


def _is(action: Action, names: frozenset[str]) -> bool:
    """Say whether an action is of one of the library's classes, or made from one."""
    return any(base.__name__ in names for base in type(action).__mro__)


def _children_of(action: Action) -> Mapping[str, Parser] | None:
    if action.nargs != argparse.PARSER:
        return None
    return cast("Mapping[str, Parser]", action.choices or {})


def _children(parser: Parser) -> dict[str, Parser]:
    """Return the sub-commands under their own names; an alias names a parser a second time."""
    found: dict[str, Parser] = {}
    seen: set[int] = set()
    for action in _actions(parser):
        for name, child in (_children_of(action) or {}).items():
            if id(child) not in seen:
                seen.add(id(child))
                found[name] = child
    return found


def _said_of_children(parser: Parser) -> dict[str, str]:
    """Return what the ``help=`` of each sub-command says, and whether it is deprecated."""
    found: dict[str, str] = {}
    for action in _actions(parser):
        listed = cast("Iterable[Action]", vars(action).get("_choices_actions", ()))
        found |= {one.dest: _said(one, parser.prog) for one in listed if one.help}
        for name in cast("Iterable[str]", vars(action).get("_deprecated", ())):
            if found.get(name) != argparse.SUPPRESS:
                found[name] = f"{found.get(name, '')} (deprecated)".strip()
    return found


def _said(listed: Action, prog: str) -> str:
    return argparse.SUPPRESS if listed.help == argparse.SUPPRESS else _expanded(listed, prog)


def _refuse_files(parser: Parser, words: str) -> None:
    if parser.fromfile_prefix_chars:
        raise RefusedError(
            f"the parser of {words!r} sets fromfile_prefix_chars, which reads files named in "
            "arguments, also behind --; remove it"
        )


def _functions(parser: Parser) -> list[object]:
    """Return the functions a parser hands on with ``set_defaults``; one of them does the work."""
    defaults = cast("Mapping[str, object]", vars(parser)["_defaults"])
    return [value for value in defaults.values() if inspect.isroutine(value)]


def _described(parser: Parser) -> str:
    text = inspect.cleandoc(parser.description or "")
    return text.replace("%(prog)s", parser.prog)


def _split(text: str) -> tuple[str, str]:
    """Return the first paragraph as one line, and the whole text where there is more."""
    first, _, rest = text.partition("\n\n")
    return " ".join(first.split()), text if rest.strip() else ""


def _help(parser: Parser, said: str) -> tuple[str, str]:
    """Return what is said of a command in the list of its group, and its own description."""
    whole = _described(parser)
    short, long = _split(whole)
    said = " ".join(said.split())
    if not said or said == "(deprecated)":
        return f"{short} {said}".strip(), long
    return said, "" if whole in ("", said) else whole


def _long_name(action: Action) -> str:
    names = [name[2:] for name in action.option_strings if name.startswith("--")]
    if _is(action, frozenset({"BooleanOptionalAction"})):
        names = [name for name in names if not name.startswith("no-")]
    return max(names, key=len, default="")


def _short(action: Action) -> str:
    shorts = [name[1] for name in action.option_strings if len(name) == 2 and name[0] == "-"]
    return next((name for name in shorts if name != "-"), "")


def _option(action: Action, name: str, prog: str) -> Parameter:
    is_flag = _is(action, _SWITCHES)
    return Parameter(
        name=name,
        help=_expanded(action, prog),
        kind="boolean" if is_flag else _kind(action),
        choices=() if is_flag else _choices(action),
        defaults=_flag_defaults(action) if is_flag else _defaults(action),
        is_required=action.required,
        is_hidden=action.help == argparse.SUPPRESS,
        is_cumulative=_is(action, _REPEATED) and not is_flag,
        is_negatable=f"--no-{name}" in action.option_strings,
        short=_short(action),
    )


def _argument(action: Action, prog: str) -> Parameter:
    return Parameter(
        name=action.dest,
        help=_expanded(action, prog),
        kind=_kind(action),
        choices=_choices(action),
        defaults=_defaults(action),
        is_required=_is_required(action),
        is_hidden=action.help == argparse.SUPPRESS,
        is_cumulative=action.nargs not in (None, argparse.OPTIONAL),
    )


def _is_required(action: Action) -> bool:
    """Say whether a call must give it; argparse marks an argument of any number so, too."""
    return action.required and action.nargs != argparse.ZERO_OR_MORE


def _kind(action: Action) -> Kind:
    return "string" if action.choices is not None else _KINDS.get(action.type, "string")


def _choices(action: Action) -> tuple[str, ...]:
    choices = cast("Iterable[object] | None", action.choices)
    return tuple(str(one) for one in choices or ())


def _flag_defaults(action: Action) -> tuple[str, ...]:
    is_on = action.default is True and action.const is not False and not action.required
    return ("true",) if is_on else ()


def _defaults(action: Action) -> tuple[str, ...]:
    value = cast("object", action.default)
    if _is_required(action) or value is None or value == argparse.SUPPRESS:
        return ()
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(str(one) for one in cast("Iterable[object]", value))
    return (str(value),)


def _expanded(action: Action, prog: str) -> str:
    """Return an action's help as argparse would print it."""
    text = action.help or ""
    if text == argparse.SUPPRESS:
        return ""
    if _is(action, frozenset({"BooleanOptionalAction"})):
        text = text.removesuffix(_NOISE)
    values = vars(action) | {"prog": prog, "choices": ", ".join(_choices(action))}
    text = _PLACE.sub(lambda found: _filled(found, values), text)
    is_deprecated = vars(action).get("deprecated") is True
    return f"{text} (deprecated)".strip() if is_deprecated else text


def _filled(place: re.Match[str], values: Mapping[str, object]) -> str:
    """Return what argparse puts in one place of a help text; an unknown one stays as it is."""
    key = place[1]
    if key is None:
        return "%"
    if key not in values:
        return place[0]
    value = values[key]
    return str(getattr(value, "__name__", value))
