"""Where a browser may come from: the address the web endpoint listens on, its path and origins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fisk_ai.config.checks import invalid
from fisk_ai.config.references import refused_url
from fisk_ai.errors import ConfigError

if TYPE_CHECKING:
    from fisk_ai.config.expose import Web

_KEY: Final = "expose.agent.web"
_ORIGIN: Final = (
    "must be an origin as a browser sends it: http:// or https://, a host and perhaps a port, such"
    " as https://chat.example.net"
)


def check_web(web: Web) -> None:
    """Refuse an address, a path or an origin that no browser could use, or that any could.

    Raises:
        ConfigError: names the key and what may stand there.
    """
    if web.listen and not _is_address(web.listen):
        raise invalid(f"{_KEY}.listen", web.listen, "must be host:port, such as 127.0.0.1:8080")
    if web.base_path and not web.base_path.startswith("/"):
        raise invalid(f"{_KEY}.base_path", web.base_path, "must start with /")
    key = f"{_KEY}.origins"
    if not web.origins:
        raise ConfigError(f"{key} is required: list each origin whose pages may ask", key=key)
    for origin in web.origins:
        if not _is_origin(origin):
            raise invalid(key, refused_url(origin), _ORIGIN)


def _is_address(listen: str) -> bool:
    """An empty host would bind every interface; whoever means that writes ``0.0.0.0``."""
    try:
        parts = urlsplit(f"//{listen}")
        port = parts.port
    except ValueError:
        return False
    return bool(parts.hostname) and port is not None and parts.netloc == listen


def _is_origin(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
        _ = parts.port
    except ValueError:
        return False
    named = bool(parts.hostname) and "@" not in parts.netloc and "*" not in parts.netloc
    return named and parts.scheme in ("http", "https") and origin == _origin_of(parts.geturl())


def _origin_of(url: str) -> str:
    """Return the scheme, host and port of ``url`` as a browser spells them."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"
