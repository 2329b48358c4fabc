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

_HIDDEN: Final = "***"
_AT: Final = re.compile(r".*(?:@|%40)", re.DOTALL)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://|//", re.IGNORECASE)
_HOST_AND_PATH: Final = re.compile(
    r"(?:\[[0-9a-f:.]*\]?|[a-z0-9._-]*)(?::[0-9]{0,5}(?![^/?#]))?(?:/[!-\"$->A-~]*)?",
    re.IGNORECASE,
)
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f]")


def check_base_url(value: str) -> str:
    """Return ``value`` when it may be used; an empty one means the provider's own address.

    Raises:
        ConfigError: no http or https address with a host, or one with user information, a query
            or a fragment. The message names the flag and the variable and shows the address as
            ``redact`` does.
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
    if "?" in value or "#" in value:
        raise _refused(value, "must not hold a query or a fragment, which no request would keep")
    return value


def redact(value: str) -> str:
    """Return what may be shown of any text meant as an address, be it one or not.

    A password may hold every character that ends the user information of a well-formed address.
    So everything up to the last ``@`` is taken for user information, and what is shown is what
    looks like scheme, host, port and path from the first character on. All else is ``***``.
    """
    scheme = _SCHEME.match(value)
    shown = scheme[0] if scheme else ""
    rest = value[len(shown) :]
    user_info = _AT.match(rest)
    if user_info is None:
        return shown + _safe_part(rest)
    # Behind a query the last "@" may stand in a secret itself.
    may_be_query = "?" in user_info[0] or "#" in user_info[0]
    return f"{shown}{_HIDDEN}@{_HIDDEN if may_be_query else _safe_part(rest[user_info.end() :])}"


def sends_key_in_clear(value: str) -> bool:
    """Say whether the key would leave this machine unencrypted; ``value`` has been checked."""
    parts = _split(value)
    if parts is None or parts.scheme != "http" or not parts.hostname:
        return False
    return not _is_loopback(parts.hostname)


def _safe_part(value: str) -> str:
    found = _HOST_AND_PATH.match(value)
    shown = found[0] if found else ""
    return shown if shown == value else shown + _HIDDEN


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
