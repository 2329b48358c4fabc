"""Reading a script's YAML: by the rules of ``agent.yaml``, in the words of a script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fisk_ai.config import document
from fisk_ai.errors import ConfigError
from fisk_ai.regular import read_named

SCRIPT_LIMIT_BYTES: Final = document.BYTES_LIMIT
"""A script is written by hand; more than this is another file given by mistake."""

_FOREIGN_WORDS: Final = "parsing config: "


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data, and the place of each turn for whoever has to mend it."""

    data: dict[str, object]
    source: document.Document

    def place(self, path: document.KeyPath) -> str:
        """Return how a place is called in an error: by its line, and by its turn inside one."""
        line, _ = self.source.position(path)
        if len(path) < len(("turns", 0)):
            return f"line {line}"
        return f"turn {int(path[1]) + 1} (line {line})"


def refused(path: Path, reason: str) -> ConfigError:
    """Return the error for a script that cannot be played."""
    return ConfigError(f"script {path}: {reason}", key="llm.options.script")


def read(path: Path) -> Document:
    """Read the file.

    Raises:
        ConfigError: it cannot be read or is no such YAML; the text names the file and the line.
    """
    text = _text(path)
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        raise refused(path, "is empty; it needs a list of turns")
    try:
        source = document.read(text, path)
    except ConfigError as exc:
        words = str(exc).removeprefix(_FOREIGN_WORDS)
        raise ConfigError(f"script {words}", key="llm.options.script") from exc
    return Document(source.data, source)


def _text(path: Path) -> str:
    refusal = refused(path, "is no regular file; save what it holds to one")
    try:
        raw = read_named(path, SCRIPT_LIMIT_BYTES, refusal=refusal)
    except OSError as exc:
        raise refused(path, f"cannot be read: {exc.strerror or exc}") from exc
    except ValueError as exc:
        raise refused(path, "cannot be read: no file name holds a null character") from exc
    if len(raw) > SCRIPT_LIMIT_BYTES:
        raise refused(path, f"is over {SCRIPT_LIMIT_BYTES} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise refused(path, f"is not UTF-8 at byte {exc.start}") from exc
