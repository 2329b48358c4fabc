"""The document an application prints of itself: its grammar, and nothing of what it means.

An absent key stands for its zero value and an unknown one is ignored, as the applications that
print it expect; one that only differs in its looks from a key that is read is refused, for what it
says would be lost. Of a duplicate key the last wins, but for tags and commands, in which the tags
that gate a command would be lost: they are refused. Rules: ``docs/reference/tools.md``.

What holds nothing but words, by the thousand, is kept from the garbage collector (``gc=False``).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

import msgspec

from fisk_ai.text import gojson, words
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


class _ExactFlag(Flag, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True): ...


class _ExactArg(Arg, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True): ...


class _ExactCommand(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    flags: tuple[_ExactFlag, ...] = ()
    args: tuple[_ExactArg, ...] = ()
    commands: tuple[_ExactCommand, ...] = ()


class _ExactApplication(Application, frozen=True, kw_only=True, forbid_unknown_fields=True):
    args: tuple[_ExactArg, ...] = ()
    commands: tuple[_ExactCommand, ...] = ()
    flags: tuple[_ExactFlag, ...] = ()


_exact = msgspec.json.Decoder(_ExactApplication)
"""Reads a document of known keys alone, as nearly all are; they need no second look."""

_lenient = msgspec.json.Decoder(Application)

_SINGLE = ("tags", "commands")
"""Keys whose first value may hold a gate."""

_BELOW: dict[type[msgspec.Struct], dict[str, type[msgspec.Struct]]] = {
    shape: {"commands": Command, "flags": Flag, "args": Arg} for shape in (Application, Command)
}
"""Where an object holds others, and what they are."""

_LETTER_ESCAPE = re.compile(rb"\\u00[4-7]")
"""An escape that a letter can be spelled with, so that a key may not look like itself."""


def decode(raw: bytes) -> Application:
    """Read one document; anything behind the object is refused, too.

    Raises:
        ValueError: not such a document; the message says where.
    """
    try:
        application, is_plain = _exactly(raw)
        if not is_plain:
            _require_plain(raw)
    except msgspec.DecodeError as exc:
        raise ValueError(str(exc)) from exc
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    return application


def _exactly(raw: bytes) -> tuple[Application, bool]:
    """Return what is read, and whether its keys are sure to be what they seem.

    Reading every object a second time would cost as much as all the rest of the start.
    """
    try:
        application = _exact.decode(raw)
    except msgspec.DecodeError:
        return _leniently(raw), False
    return application, not _may_hold_twice(raw, application)


def _leniently(raw: bytes) -> Application:
    """Read a document with unknown keys, or with escapes of half a surrogate pair."""
    try:
        return _lenient.decode(raw)
    except msgspec.DecodeError:
        try:
            mended = gojson.mended(raw)
        except UnicodeDecodeError:
            mended = raw
        if mended == raw:
            raise
        return _lenient.decode(mended)


def _may_hold_twice(raw: bytes, application: Application) -> bool:
    """Say whether the text has more of such keys than what was read of it."""
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


def _require_plain(raw: bytes) -> None:
    """Read every object again, and refuse one whose keys could hide a gate.

    Raises:
        ValueError: its tags or commands are there twice, or a key looks like one that is read.
        RecursionError: it is nested too deeply for this reading.
    """
    text = raw.decode(errors="replace")
    document = json.loads(text, object_pairs_hook=_single, parse_int=str, parse_float=str)
    _require_known(document, Application)


def _single(members: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in members]
    read = dict(members)
    for key in _SINGLE:
        if keys.count(key) > 1:
            raise ValueError(f"{_named(read)} has its {key} twice, and only one of both could hold")
    return read


def _require_known(node: Mapping[str, object], shape: type[msgspec.Struct]) -> None:
    """Refuse a key that is passed over although a reader, or Go, takes it for one that is read."""
    for key in node:
        meant = key if key in shape.__struct_fields__ else _meant(shape).get(_as_read(key))
        if meant not in (key, None):
            raise ValueError(
                f"{_named(node)} has the key {words.shown(key)}, which is not read; write {meant}"
            )
    for key, kind in _BELOW.get(shape, {}).items():
        below = cast("Sequence[Mapping[str, object]] | None", node.get(key))
        for each in below or ():
            _require_known(each, kind)


@cache
def _meant(shape: type[msgspec.Struct]) -> dict[str, str]:
    return {_as_read(key): key for key in shape.__struct_fields__}


def _as_read(key: str) -> str:
    """Return what a reader takes a key for: its letters, whatever their case and width."""
    seen = unicodedata.normalize("NFKC", words.visible(key)).casefold()
    return "".join(filter(str.isalnum, seen))


def _named(node: Mapping[str, object]) -> str:
    return quoted(str(node.get("name", "")))
