"""The document an application prints of itself: its grammar, and nothing of what it means.

An absent key stands for its zero value and an unknown one is ignored, as the applications that
print it expect. Of a duplicate key the last wins, but for tags and commands, in which the tags that
gate a command would be lost: they are refused. Rules: ``docs/reference/tools.md``.

What holds nothing but words, by the thousand, is kept from the garbage collector (``gc=False``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from fisk_ai.text.sanitise import quoted


class Flag(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A flag of the application or of one command; ``short`` is a code point, not a letter."""

    name: str = ""
    help: str = ""
    short: int = 0
    default: tuple[str, ...] = ()
    envar: str = ""
    place_holder: str = ""
    required: bool = False
    hidden: bool = False
    boolean: bool = False
    negatable: bool = False
    cumulative: bool = False
    completions: tuple[str, ...] = ()


class Arg(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A positional argument, in declared order."""

    name: str = ""
    help: str = ""
    default: tuple[str, ...] = ()
    envar: str = ""
    place_holder: str = ""
    required: bool = False
    hidden: bool = False
    cumulative: bool = False


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the tree: a group when it has commands below it, else a leaf.

    ``restricted_schema`` is ``None`` only when the key is absent; an empty object is a schema.
    """

    name: str = ""
    aliases: tuple[str, ...] = ()
    help: str = ""
    help_long: str = ""
    hidden: bool = False
    default: bool = False
    tags: tuple[str, ...] = ()
    schema: dict[str, object] = {}
    restricted_schema: dict[str, object] | msgspec.UnsetType = msgspec.UNSET
    flags: tuple[Flag, ...] = ()
    args: tuple[Arg, ...] = ()
    commands: tuple[Command, ...] = ()


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """The root; its ``flags`` are the global ones."""

    name: str = ""
    help: str = ""
    cheat: str = ""
    version: str = ""
    author: str = ""
    cheats: dict[str, str] = {}
    cheat_tags: tuple[str, ...] = ()
    llm_extra_info: str = ""
    args: tuple[Arg, ...] = ()
    commands: tuple[Command, ...] = ()
    flags: tuple[Flag, ...] = ()


_decoder = msgspec.json.Decoder(Application)

_SINGLE = ("tags", "commands")
"""Keys whose first value may hold a gate."""

_LETTER_ESCAPE = re.compile(rb"\\u00[4-7]")
"""An escape that a letter can be spelled with, so that a key may not look like itself."""


def decode(raw: bytes) -> Application:
    """Read one document; anything behind the object is refused, too.

    Raises:
        ValueError: not such a document; the message says where.
    """
    try:
        application = _decoder.decode(raw)
    except msgspec.DecodeError as exc:
        raise ValueError(str(exc)) from exc
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    if _may_hold_twice(raw, application):
        _require_single(raw)
    return application


def _may_hold_twice(raw: bytes, application: Application) -> bool:
    """Say whether the text has more of such keys than what was read of it.

    Reading every object a second time would cost as much as all the rest of the start.
    """
    if _LETTER_ESCAPE.search(raw):
        return True
    tagged, parents = _counted(application.commands)
    return raw.count(b'"tags"') > tagged or raw.count(b'"commands"') > parents


def _counted(commands: Sequence[Command]) -> tuple[int, int]:
    """Return how many commands have tags, and how many lists of commands there are."""
    tagged, parents = 0, 1 if commands else 0
    for command in commands:
        if command.tags:
            tagged += 1
        if command.commands:
            below = _counted(command.commands)
            tagged, parents = tagged + below[0], parents + below[1]
    return tagged, parents


def _require_single(raw: bytes) -> None:
    """Read every object again, and refuse one that says its tags or commands twice.

    Raises:
        ValueError: as said, or nested too deeply for this reading.
    """
    text = raw.decode(errors="replace")
    try:
        json.loads(text, object_pairs_hook=_single, parse_int=str, parse_float=str)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc


def _single(members: list[tuple[str, object]]) -> str:
    keys = [key for key, _ in members]
    for key in _SINGLE:
        if keys.count(key) > 1:
            name = next((value for known, value in members if known == "name"), "")
            raise ValueError(
                f"{quoted(str(name))} has its {key} twice, and only one of both could hold"
            )
    return ""
