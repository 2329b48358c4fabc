"""Where a model's key comes from: a typed flag, then the environment, as text or as a file.

A key given in place of a file is a slip that happens, so a name that may be one is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fisk_ai.errors import ConfigError
from fisk_ai.regular import read_named

KEY = "ANTHROPIC_API_KEY"
KEY_FILE = "ANTHROPIC_API_KEY_FILE"

KEY_FILE_LIMIT_BYTES = 65_536
"""A longer file is not a key but a mistake."""

_LIKE_A_KEY = re.compile(r"sk-.*|(?![./~])(?=.*\d)[\w+/=.-]{20,}", re.ASCII | re.DOTALL)
"""Keys begin with ``sk-``, or are long words with a digit that begin like no path."""


def api_key(
    environ: Mapping[str, str], *, key: str | None = None, key_file: str | None = None
) -> str:
    """Return the model's key, empty when nobody gave one.

    Raises:
        ConfigError: both variables are exported, or the file is unreadable or empty.
    """
    if key is not None:
        return key.strip()
    if key_file is not None:
        return _read("--api-key-file", key_file)
    exported, exported_file = environ.get(KEY, "").strip(), environ.get(KEY_FILE, "").strip()
    if exported and exported_file:
        raise ConfigError(f"{KEY} and {KEY_FILE} are both set; unset one of them", key=KEY_FILE)
    return _read(KEY_FILE, exported_file) if exported_file else exported


def _read(source: str, name: str) -> str:
    if _LIKE_A_KEY.fullmatch(name) and not _is_file(name):
        raise ConfigError(f"{source} names no readable file; is it the key itself?", key=source)
    refusal = ConfigError(
        f'{source} "{name}" is no regular file; export a key that a command prints as {KEY}',
        key=source,
    )
    try:
        content = read_named(Path(name), KEY_FILE_LIMIT_BYTES, refusal=refusal)
        text = content.decode().rstrip()
    except OSError as exc:
        raise ConfigError(f'{source} "{name}" cannot be read: {exc.strerror}', key=source) from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f'{source} "{name}" holds no text', key=source) from exc
    except ValueError as exc:
        raise ConfigError(f"{source} holds a character no file name has", key=source) from exc
    if not text or len(content) > KEY_FILE_LIMIT_BYTES:
        state = "is empty" if not text else "is too large to be a key"
        raise ConfigError(f'{source} "{name}" {state}', key=source)
    return text


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False
