"""How the text of a file becomes plain data that knows where each of its values stands.

JSON is read by the same rules. Everything a file could do to a reader is bounded here: bytes,
depth, aliases that multiply; a key written twice is refused, where a plain loader lets the last
one win.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NoReturn, cast

import yaml

from fisk_ai.config import core_schema, grammar
from fisk_ai.config.scalar import canonical, quote
from fisk_ai.errors import ConfigError

BYTES_LIMIT: Final = 1024 * 1024
"""A long prompt fits many times; a disk image passed by mistake does not."""

DEPTH_LIMIT: Final = 64
"""Levels of nesting: documented keys have six, an options block may have some more."""

VALUES_LIMIT: Final = 100_000
"""Values once aliases are followed: an alias of aliases multiplies within a few lines."""

KeyPath = tuple[str | int, ...]
Position = tuple[int, int]
"""Line and column, both from one."""

_START: Final = (1, 1)
_TOO_LARGE: Final = "the file is over 1 MiB: is it an agent's configuration?"
_EMPTY: Final = "the file is empty: a run needs application_path, system_prompt and llm.model"
_SURROGATES: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data with the position of every path; ``source`` is the name messages use."""

    data: dict[str, object]
    positions: dict[KeyPath, Position]
    source: Path

    def position(self, path: KeyPath) -> Position:
        """Return where ``path`` stands, or the nearest thing around it that was written."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.positions:
                return self.positions[path[:end]]
        return _START

    def without(self, path: KeyPath) -> Document:
        """Return a copy in which nothing at or below ``path`` counts as written."""
        kept = {at: place for at, place in self.positions.items() if at[: len(path)] != path}
        return replace(self, positions=kept)

    def placed(self, error: ConfigError) -> ConfigError:
        """Return ``error`` with the place of its key, if the file writes that key."""
        written = (path for path in self.positions if key_name(path) == error.key)
        path = next(written, None)
        if path is None:
            return error
        line, column = self.positions[path]
        placed = f"checking config: {self.source}:{line}:{column}: {error}"
        return ConfigError(placed, key=error.key)


def refusal(source: Path, position: Position, reason: str) -> ConfigError:
    """Return the error for one place of a file; every failure to parse reads like this."""
    line, column = position
    return ConfigError(f"parsing config: {source}:{line}:{column}: {reason}")


def key_name(path: KeyPath) -> str:
    """Return a path as a person writes it: ``expose.agent.mcp``, ``mcp_clients[0].url``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def decode(raw: bytes, source: Path) -> str:
    """Return the text of a file's bytes.

    Raises:
        ConfigError: they are too many, or no UTF-8.
    """
    if len(raw) > BYTES_LIMIT:
        raise refusal(source, _START, _TOO_LARGE)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        column = exc.start - raw.rfind(b"\n", 0, exc.start)
        raise refusal(source, (line, column), "the file is not UTF-8 text") from exc


def read(text: str, source: Path) -> Document:
    """Return the one mapping that ``text`` holds.

    Raises:
        ConfigError: it is too large, is no YAML, or is not a single mapping of text keys.
    """
    if len(text) > BYTES_LIMIT:
        raise refusal(source, _START, _TOO_LARGE)
    node = _compose(text, source)
    if node is None:
        raise refusal(source, _START, _EMPTY)
    if not isinstance(node, yaml.MappingNode):
        raise refusal(source, _position(node), "the file must be a mapping of keys to values")
    reader = _Reader(source)
    return Document(reader.mapping(node, ()), reader.positions, source)


def _compose(text: str, source: Path) -> yaml.Node | None:
    try:
        node: object = yaml.compose(_pair_surrogates(text), Loader=core_schema.CoreLoader)
    except yaml.MarkedYAMLError as exc:
        position, reason = grammar.explain(exc, text)
        raise refusal(source, position, reason) from exc
    except yaml.reader.ReaderError as exc:
        raise refusal(source, _START, f"{exc.reason}: is this a text file?") from exc
    except UnicodeEncodeError as exc:
        raise refusal(source, _START, "the file is not UTF-8 text") from exc
    if isinstance(node, yaml.ScalarNode) and node.value == "":
        return None
    return cast("yaml.Node | None", node)


def _pair_surrogates(text: str) -> str:
    r"""Give JSON's two-part escapes the one form YAML knows, or emoji of a JSON file are lost."""
    if not text.lstrip().startswith("{") or not _SURROGATES.search(text):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _SURROGATES.sub(_one_escape, text)


def _one_escape(match: re.Match[str]) -> str:
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08X}"


def _position(node: yaml.Node) -> Position:
    return (node.start_mark.line + 1, node.start_mark.column + 1)


class _Reader:
    """Walks the nodes of one document, counting what it makes of them."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._values = 0
        self.positions: dict[KeyPath, Position] = {}

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        if node.tag != core_schema.MAP:
            self._refuse(node, "custom tags are not accepted: write plain values")
        entries = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
        data: dict[str, object] = {}
        for key_node, value_node in entries:
            key = self._key(key_node)
            inner = (*path, key)
            if key in data:
                self._refuse(key_node, f"key {quote(key_name(inner))} is written twice")
            self.positions[inner] = _position(key_node)
            data[key] = self._value(value_node, inner)
        return data

    def _sequence(self, node: yaml.SequenceNode, path: KeyPath) -> list[object]:
        if node.tag != core_schema.SEQ:
            self._refuse(node, "custom tags are not accepted: write plain values")
        items: list[object] = []
        for index, item in enumerate(cast("list[yaml.Node]", node.value)):
            self.positions[(*path, index)] = _position(item)
            items.append(self._value(item, (*path, index)))
        return items

    def _value(self, node: yaml.Node, path: KeyPath) -> object:
        self._values += 1
        if self._values > VALUES_LIMIT:
            self._refuse(node, f"the file holds over {VALUES_LIMIT} values: do aliases multiply?")
        if len(path) > DEPTH_LIMIT:
            self._refuse(node, f"the file is nested over {DEPTH_LIMIT} levels deep")
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return self._sequence(node, path)
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> core_schema.Scalar:
        try:
            return core_schema.scalar(node.tag, str(node.value))
        except ValueError as exc:
            raise refusal(self._source, _position(node), str(exc)) from exc

    def _key(self, node: yaml.Node) -> str:
        if node.tag == core_schema.MERGE:
            self._refuse(node, "merge keys (<<) are not accepted: write the keys out")
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, "a key must be text")
        key = canonical(self._scalar(node))
        if not isinstance(key, str):
            self._refuse(node, "a key must be text")
        if not key:
            self._refuse(node, "a key must not be empty")
        return key

    def _refuse(self, node: yaml.Node, reason: str) -> NoReturn:
        raise refusal(self._source, _position(node), reason)
