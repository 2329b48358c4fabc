"""The document an application prints of itself: its grammar, and nothing of what it means.

An absent key stands for its zero value and an unknown one is ignored, as the applications that
print it expect. Of a duplicate key the last wins, but for tags, which may gate a command: they are
refused. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from fisk_ai.text.sanitise import quoted


class Flag(msgspec.Struct, frozen=True, kw_only=True):
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


class Arg(msgspec.Struct, frozen=True, kw_only=True):
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
_TAGS = re.compile(rb'"tags"\s*:\s*\[\s*"')


def decode(raw: bytes) -> Application:
    """Read one document; anything behind the object is refused, too.

    Raises:
        ValueError: not such a document; the message says where.
    """
    try:
        application = _decoder.decode(raw)
        if _may_hold_lost_tags(raw, application):
            json.loads(raw, object_pairs_hook=_require_single_tags)
        return application
    except msgspec.DecodeError as exc:
        raise ValueError(str(exc)) from exc
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc


def _may_hold_lost_tags(raw: bytes, application: Application) -> bool:
    """Say whether the text has more lists of tags than commands do, so that it is worth a reading.

    Reading every object a second time would cost as much as all the rest of the start.
    """
    return len(_TAGS.findall(raw)) > _tagged(application.commands)


def _tagged(commands: Sequence[Command]) -> int:
    """Return how many commands have tags."""
    found = 0
    for command in commands:
        if command.tags:
            found += 1
        if command.commands:
            found += _tagged(command.commands)
    return found


def _require_single_tags(members: list[tuple[str, object]]) -> str:
    """Refuse an object with two lists of tags; raises ValueError."""
    if [key for key, _ in members].count("tags") > 1:
        name = next((value for key, value in members if key == "name"), "")
        raise ValueError(f"{quoted(str(name))} has its tags twice, and only one of both could hold")
    return ""
