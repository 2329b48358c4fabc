"""The shape of a script's file: which keys, of which types; and how another shape is refused.

Everything is checked when the file is read, in the words of whoever wrote it: a turn by its
number, a place by its line. Format: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, get_args

import msgspec

from fisk_ai.config.document import KeyPath
from fisk_ai.config.scalar import quote
from fisk_ai.llm.scripted.document import Document

Failure = Literal["rate_limited", "overloaded", "refused", "context_exceeded", "timeout"]
Count = Annotated[int, msgspec.Meta(ge=0)]


class WrittenUsage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Tokens that a turn says it took."""

    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_create: Count = 0
    thinking: Count = 0


class WrittenCall(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One call of a tool."""

    tool: Annotated[str, msgspec.Meta(min_length=1)]
    input: dict[str, object] = {}


class WrittenTurn(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One reply as it is written; which keys go together is checked elsewhere."""

    when: str | None = None
    think: str = ""
    say: str = ""
    call: tuple[WrittenCall, ...] = ()
    usage: WrittenUsage | None = None
    delay: str = "0s"
    fail: Failure | None = None


class WrittenScript(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole file."""

    turns: tuple[WrittenTurn, ...]


_BLOCKS: Final[dict[str, tuple[str, type[msgspec.Struct]]]] = {
    "": ("a script", WrittenScript),
    "turns": ("a turn", WrittenTurn),
    "call": ("a call", WrittenCall),
    "usage": ("usage", WrittenUsage),
}
_PATH: Final = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)
_PART: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
_TYPE: Final = re.compile(r"Expected `([\w | ]+)`, got `(\w+)`")
_KEY: Final = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)
_KINDS: Final = {
    "array": "a list",
    "object": "a mapping of keys to values",
    "str": "text",
    "int": "a whole number",
    "float": "a fraction",
    "bool": "true or false",
    "null": "nothing",
}
_HINTS: Final = {
    "array": ": begin each entry with a dash",
    "str": ": put it in quotes",
}


def parse(source: Document) -> WrittenScript:
    """Return the file's data as a script.

    Raises:
        ValueError: it has another shape; the text names the turn, the line and the key.
    """
    try:
        return msgspec.convert(source.data, WrittenScript)
    except msgspec.ValidationError as exc:
        raise ValueError(_in_words(str(exc), source)) from exc


def _in_words(error: str, source: Document) -> str:
    match = _PATH.fullmatch(error)
    problem, written = (match[1], match[2] or "") if match else (error, "")
    path = tuple(int(index) if index else name for name, index in _PART.findall(written))
    key = _KEY.fullmatch(problem)
    if key is None:
        return f"{source.place(path)}: {_value_refused(problem, path)}"
    if key[1].startswith("missing"):
        return f"{source.place(path)}: {_owner(path)} needs the key {key[2]}"
    known = ", ".join(_shape_at(path).__struct_fields__)
    place = source.place((*path, key[2]))
    return f"{place}: unknown key {quote(key[2])}; {_owner(path)} has {known}"


def _value_refused(problem: str, path: KeyPath) -> str:
    thing = _thing(path)
    kinds = _TYPE.fullmatch(problem)
    if kinds:
        wanted, given = kinds[1].removesuffix(" | null"), kinds[2]
        hint = "" if given == "null" else _HINTS.get(wanted, "")
        return f"{thing} must be {_KINDS[wanted]}, not {_KINDS[given]}{hint}"
    if problem.startswith("Invalid enum value"):
        return f"{thing} must be one of {', '.join(get_args(Failure))}"
    return f"{thing} must not be {'empty' if 'length' in problem else 'negative'}"


def _shape_at(path: KeyPath) -> type[msgspec.Struct]:
    return _BLOCKS[_block(path)][1]


def _owner(path: KeyPath) -> str:
    return _BLOCKS[_block(path)][0]


def _block(path: KeyPath) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def _thing(path: KeyPath) -> str:
    """Name a place inside a turn: ``tool of call 1``."""
    words: list[str] = []
    for part in path[2:] or path[:1]:
        if isinstance(part, int):
            words[-1] = f"{words[-1]} {part + 1}"
        else:
            words.append(part)
    return "a turn" if len(path) == len(("turns", 0)) else " of ".join(reversed(words))
