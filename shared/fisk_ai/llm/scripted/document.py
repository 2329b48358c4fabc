"""Reading a script's YAML strictly: bounded, every key once, nothing shared by anchors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import yaml

from fisk_ai.errors import ConfigError

SCRIPT_LIMIT_BYTES: Final = 4 * 1024 * 1024
"""A script is written by hand; more than this is another file given by mistake."""


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data, and the line each turn starts on."""

    data: object
    turn_lines: tuple[int, ...]


def refused(path: Path, reason: str) -> ConfigError:
    """Return the error for a script that cannot be played."""
    return ConfigError(f"script {path}: {reason}", key="llm.options.script")


def read(path: Path) -> Document:
    """Read the file.

    Raises:
        ConfigError: it cannot be read or is no such YAML; the text names the file and the line.
    """
    loader = yaml.SafeLoader(_text(path))
    try:
        root = loader.get_single_node()
        if root is None:
            raise refused(path, "is empty; it needs a list of turns")
        _check(path, root)
        construct = cast(
            "Callable[[yaml.Node], object]",
            loader.construct_document,  # pyright: ignore[reportUnknownMemberType] - loosely typed stub
        )
        return Document(construct(root), _turn_lines(root))
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark else 1
        raise refused(path, f"line {line}: {exc.problem or 'is no YAML'}") from exc
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        raise refused(path, f"is no YAML: {exc}") from exc
    finally:
        loader.dispose()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            raw = stream.read(SCRIPT_LIMIT_BYTES + 1)
    except OSError as exc:
        raise refused(path, f"cannot be read: {exc.strerror or exc}") from exc
    if len(raw) > SCRIPT_LIMIT_BYTES:
        raise refused(path, f"is over {SCRIPT_LIMIT_BYTES} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise refused(path, f"is not UTF-8 at byte {exc.start}") from exc


def _check(path: Path, root: yaml.Node) -> None:
    """Refuse what would play differently from how it reads."""
    met: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in met:
            raise refused(path, f"line {_line(node)}: anchors are not supported")
        met.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _check_keys(path, node)
        waiting.extend(_children(node))


def _check_keys(path: Path, node: yaml.MappingNode) -> None:
    met: set[str] = set()
    for key, _ in _pairs(node):
        name = str(key.value)
        if name in met:
            raise refused(path, f"line {_line(key)}: {name} is written twice")
        met.add(name)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from cast("list[yaml.Node]", node.value)
    elif isinstance(node, yaml.MappingNode):
        yield from (value for _, value in _pairs(node))


def _pairs(node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    return cast("list[tuple[yaml.Node, yaml.Node]]", node.value)


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _turn_lines(root: yaml.Node) -> tuple[int, ...]:
    if not isinstance(root, yaml.MappingNode):
        return ()
    for key, value in _pairs(root):
        if key.value == "turns":
            return tuple(_line(turn) for turn in _children(value))
    return ()
