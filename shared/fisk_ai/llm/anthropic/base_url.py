"""Which addresses a model API may be asked at; imports nothing heavy, so the command line uses it.

The key travels to this address. User information in it would end in logs and process lists, and a
scheme other than HTTP would be another protocol altogether. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from fisk_ai.errors import ConfigError

DEFAULT_BASE_URL: Final = "https://api.anthropic.com"
BASE_URL: Final = "ANTHROPIC_BASE_URL"
SETTING: Final = f"--base-url / {BASE_URL}"

_USER_INFO: Final = re.compile(r"(?<=//)[^/?#]*@|^[^/?#]*@")
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f]")


def check_base_url(value: str) -> str:
    """Return ``value`` when it may be used; an empty one means the provider's own address.

    Raises:
        ConfigError: no http or https address with a host, or one with user information. The
            message names the flag and the variable and hides user information.
    """
    if not value:
        return ""
    parts = _split(value)
    if parts is None or _FORBIDDEN.search(value):
        raise _refused(value, "is no address")
    if parts.scheme not in ("http", "https"):
        raise _refused(value, "must start with http:// or https://")
    if not parts.hostname:
        raise _refused(value, "names no host")
    if "@" in parts.netloc:
        raise _refused(value, "must not hold a user name or password")
    return value


def redact(value: str) -> str:
    """Return an address that may be shown: user information becomes ``***``."""
    return _USER_INFO.sub("***@", value)


def sends_key_in_clear(value: str) -> bool:
    """Say whether the key would leave this machine unencrypted; ``value`` has been checked."""
    parts = _split(value)
    if parts is None or parts.scheme != "http" or not parts.hostname:
        return False
    return not _is_loopback(parts.hostname)


def _is_loopback(host: str) -> bool:
    if host == "localhost":  # urlsplit lowers the case
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return (
            False  # a name: it is not resolved, so that no other machine can claim to be this one
        )


def _split(value: str) -> SplitResult | None:
    try:
        parts = urlsplit(value)
        _ = parts.port  # a bad port is found only when it is read
    except ValueError:
        return None
    return parts


def _refused(value: str, reason: str) -> ConfigError:
    return ConfigError(
        f"invalid {SETTING}: {redact(value)!r} {reason}; give an http or https address",
        key=BASE_URL,
    )
