"""Where the model's key and address come from: a typed flag, then the environment.

They reach the worker through its environment, never through an argument that ``ps`` would show.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from fisk_ai.errors import ConfigError, UsageError

KEY = "ANTHROPIC_API_KEY"
KEY_FILE = "ANTHROPIC_API_KEY_FILE"
BASE_URL = "ANTHROPIC_BASE_URL"
BASE_URL_LABEL = f"--base-url / {BASE_URL}"

KEY_FILE_LIMIT_BYTES = 65_536
"""A longer file is not a key but a mistake."""


def base_url(flag: str | None, environ: Mapping[str, str]) -> str:
    """Return the model's address, empty for the provider's own.

    Raises:
        ConfigError: it is no http or https address, or carries a user name or password.
    """
    value = flag if flag is not None else environ.get(BASE_URL, "")
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        private = "@" in parts.netloc
    except ValueError:
        usable = private = False
    if private:
        raise ConfigError(
            f"{BASE_URL_LABEL} must not carry a user name or password; remove what is before the @",
            key="--base-url",
        )
    if not usable:
        raise ConfigError(
            f'{BASE_URL_LABEL} must be an http or https address with a host, got "{value}"',
            key="--base-url",
        )
    return value


def refuse_both(key: str | None, key_file: str | None) -> None:
    """Refuse two typed sources of one key.

    Raises:
        UsageError: both flags were typed.
    """
    if key is not None and key_file is not None:
        raise UsageError(
            "--api-key-file cannot be used beside --api-key; pass one of them", key="--api-key-file"
        )


def api_key(key: str | None, key_file: str | None, environ: Mapping[str, str]) -> str:
    """Return the model's key, empty when nobody gave one.

    Raises:
        ConfigError: both variables are exported, or the file is unreadable or empty.
    """
    if key is not None:
        return key.strip()
    if key_file is not None:
        return _read("--api-key-file", key_file)
    exported, exported_file = environ.get(KEY, ""), environ.get(KEY_FILE, "")
    if exported and exported_file:
        raise ConfigError(f"{KEY} and {KEY_FILE} are both set; unset one of them", key=KEY_FILE)
    return _read(KEY_FILE, exported_file) if exported_file else exported.strip()


def _read(source: str, name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            content = file.read(KEY_FILE_LIMIT_BYTES + 1)
        text = content.decode().rstrip()
    except OSError as exc:
        raise ConfigError(f'{source} "{name}" cannot be read: {exc.strerror}', key=source) from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f'{source} "{name}" holds no text', key=source) from exc
    if not text or len(content) > KEY_FILE_LIMIT_BYTES:
        state = "is empty" if not text else "is too large to be a key"
        raise ConfigError(f'{source} "{name}" {state}', key=source)
    return text
