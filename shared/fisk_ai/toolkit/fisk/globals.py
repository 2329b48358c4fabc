"""Global flags of the application: which ones tools offer, and how they enter a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fisk_ai.errors import ConfigError
from fisk_ai.toolkit.fisk.document import Application, Flag
from fisk_ai.toolkit.fisk.tree import Leaf

FRAMEWORK_FLAGS = frozenset(
    {
        "help",
        "help-long",
        "help-man",
        "help-llm",
        "help-compact",
        "completion-bash",
        "completion-script-bash",
        "completion-script-zsh",
        "fisk-introspect",
        "version",
    }
)
"""What the framework itself answers instead of running a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalFlag:
    """A global flag that tools could offer, for people who choose.

    ``offered`` flags are arguments of every tool; ``required`` ones are given with every call.
    """

    name: str
    help: str = ""
    required: bool = False
    offered: bool = False


def available(application: Application, offered: Sequence[Flag]) -> tuple[GlobalFlag, ...]:
    """Return the globals that ``global_flags`` may list, in declared order, and those ``offered``.

    A hidden one cannot be listed; one that is required is offered all the same.
    """
    names = {flag.name for flag in offered}
    return tuple(
        GlobalFlag(
            name=flag.name,
            help=flag.help,
            required=_is_required(flag),
            offered=flag.name in names,
        )
        for flag in application.flags
        if flag.name in names or not (flag.hidden or flag.name in FRAMEWORK_FLAGS)
    )


def normalise(names: Sequence[str]) -> list[str]:
    """Return the names trimmed, without dashes in front, each once."""
    cleaned = (name.strip().lstrip("-") for name in names)
    return list(dict.fromkeys(name for name in cleaned if name))


def resolve(names: Sequence[str], application: Application) -> tuple[Flag, ...]:
    """Return the globals every tool offers: the listed ones in order, then required ones.

    A required global is offered listed or not: without it no command of the application runs.

    Raises:
        ConfigError: a listed name is no global flag, or one that must not be offered.
    """
    by_name = {flag.name: flag for flag in application.flags}
    chosen = {name: _listed(name, by_name, application.name) for name in normalise(names)}
    for flag in application.flags:
        if flag.required and flag.name not in FRAMEWORK_FLAGS:
            chosen.setdefault(flag.name, flag)
    return tuple(chosen.values())


def _listed(name: str, by_name: Mapping[str, Flag], application: str) -> Flag:
    flag = by_name.get(name)
    if flag is None:
        raise ConfigError(
            f'global_flags: "{name}" is not a global flag of {application}; '
            "`fisk-ai info` lists those it has",
            key="global_flags",
        )
    if flag.hidden or name in FRAMEWORK_FLAGS:
        what = "hidden" if flag.hidden else "a flag of the framework"
        raise ConfigError(
            f'global_flags: "{name}" of {application} is {what} and cannot be exposed; remove it',
            key="global_flags",
        )
    return flag


def for_leaf(flags: Sequence[Flag], leaf: Leaf) -> tuple[Flag, ...]:
    """Return the globals this leaf offers; a flag or argument of its own wins silently."""
    if not flags:
        return ()
    own = {flag.name for flag in leaf.flags} | {arg.name for arg in leaf.args}
    return tuple(flag for flag in flags if flag.name not in own)


def merged_schema(schema: Mapping[str, object], flags: Sequence[Flag]) -> Mapping[str, object]:
    """Return the schema with the globals added; the one given stays as it is."""
    if not flags:
        return schema
    present = _object(schema.get("properties"))
    added = {flag.name: _value_schema(flag) for flag in flags if flag.name not in present}
    merged: dict[str, object] = {**schema, "properties": {**present, **added}}
    required = [flag.name for flag in flags if flag.name in added and _is_required(flag)]
    if required:
        merged["required"] = [*_list(schema.get("required")), *required]
    return merged


def _is_required(flag: Flag) -> bool:
    return flag.required and not flag.default


def _value_schema(flag: Flag) -> dict[str, object]:
    """Rebuild what the document no longer says: types are gone but for booleans."""
    kind = "boolean" if flag.boolean else "string"
    described = f"Global flag: {flag.help}" if flag.help else "Global flag"
    if flag.cumulative and not flag.boolean:
        return {"description": described, "type": "array", "items": {"type": kind}}
    value: dict[str, object] = {"description": described, "type": kind}
    if flag.completions and not flag.boolean:
        value["enum"] = list(flag.completions)
    return value


def _object(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - decoded JSON


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - decoded JSON
