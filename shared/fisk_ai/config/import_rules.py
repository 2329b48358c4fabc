"""Whose tools an agent imports: the rules of ``remote_tools`` and of ``mcp_clients``.

What would be ignored in silence is refused here, above all a filter that could not drop what it
names: a tool that was to stay out would come in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fisk_ai.config import references
from fisk_ai.config.checks import check_duration
from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

if TYPE_CHECKING:
    from fisk_ai.config.model import Config, McpClient, RemoteToolHost

IDENTITY_LIMIT: Final = 128
"""Characters. An identity is part of subjects, which a broker takes in lines of 4096 bytes together
with a reply subject, and names directories, which a file system bounds at 255."""

IDENTITY: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{IDENTITY_LIMIT}}}")
CHARACTERS: Final = (
    f"it must contain only letters, digits, '-' or '_', at most {IDENTITY_LIMIT} of them"
)
_PREFIXES: Final = "(it prefixes imported tool names)"

ENDPOINT: Final = (
    "a url is the http:// or https:// endpoint of a running server, such as"
    " https://mcp.example.net/mcp"
)


def check_timeouts(config: Config) -> None:
    """Refuse a time that is not above zero: an endless start would hold up every run.

    Raises:
        ConfigError: names the server.
    """
    for client in config.mcp_clients:
        try:
            check_duration("mcp_clients timeout", client.timeout)
        except ConfigError as exc:
            reason = str(exc).replace(": ", f" on server {quote(client.name)}: ", 1)
            raise ConfigError(reason, key="mcp_clients") from exc


def check_remote_hosts(config: Config) -> None:
    """Refuse a peer that could not be asked, or whose filter could not be honoured.

    Raises:
        ConfigError: names the peer.
    """
    for host in config.remote_tools:
        reason = _host_fault(host)
        if reason:
            raise ConfigError(f"remote_tools host {reason}", key="remote_tools")


def check_mcp_clients(config: Config) -> None:
    """Refuse a server that could not be reached, told apart or filtered.

    Raises:
        ConfigError: names the server; an address is shown without what is secret in it.
    """
    names: set[str] = set()
    aliases: dict[str, str] = {}
    for client in config.mcp_clients:
        reason = (
            _name_fault(client, names, aliases)
            or _transport_fault(client)
            or _tags_fault(client)
            or _value_fault(client)
        )
        if reason:
            raise ConfigError(f"mcp_clients {reason}", key="mcp_clients")
        names.add(client.name)
        aliases[client.alias or client.name] = client.name


def address_fault(url: str) -> str:
    """Return why ``url`` is no address of a server, empty when it is one; references resolved."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return f"it cannot be read; {ENDPOINT}"
    if parts.scheme not in ("http", "https"):
        return ENDPOINT
    return "" if parts.hostname else "it names no host, so there is nothing to connect to"


def _host_fault(host: RemoteToolHost) -> str:
    if not host.name:
        return "is missing a name"
    if not IDENTITY.fullmatch(host.name):
        return f"name {quote(host.name)} is invalid: {CHARACTERS} (it keys the NATS subjects)"
    named = quote(host.name)
    if host.alias and not IDENTITY.fullmatch(host.alias):
        return f"{named} has an invalid alias {quote(host.alias)}: {CHARACTERS} {_PREFIXES}"
    if host.exclude.tags:
        return (
            f"{named} has an exclude.tags filter, which cannot be honored: discovery does not carry"
            " tags, so a tool excluded by tag would be imported anyway; exclude by tool name"
            " instead"
        )
    return ""


def _name_fault(client: McpClient, names: set[str], aliases: Mapping[str, str]) -> str:
    if not client.name:
        return "server is missing a name"
    named = quote(client.name)
    if not IDENTITY.fullmatch(client.name):
        return f"server name {named} is invalid: {CHARACTERS} {_PREFIXES}"
    if client.alias and not IDENTITY.fullmatch(client.alias):
        return (
            f"server {named} has an invalid alias {quote(client.alias)}: {CHARACTERS} {_PREFIXES}"
        )
    if client.name in names:
        return f"has more than one server named {named}: give each entry its own name"
    alias = client.alias or client.name
    if alias in aliases:
        return (
            f"servers {quote(aliases[alias])} and {named} both use the alias {quote(alias)}: every"
            ' imported tool is named "<alias>_<tool>", so two servers sharing an alias name the'
            " same tool twice; set a different alias on one of them"
        )
    return ""


def _transport_fault(client: McpClient) -> str:
    server = f"server {quote(client.name)}"
    if not client.command and not client.url:
        return f"{server} has neither a command nor a url: set command to start it, or url to reach"
    if client.command and client.url:
        return f"{server} has both a command and a url: keep the one that reaches it"
    if client.url and (client.env or client.args):
        ignored = "env" if client.env else "args"
        return f"{server} has {ignored} beside url: only a server started by command takes it"
    if client.command and client.headers:
        return f"{server} has headers beside command: only a server reached by url takes them"
    return ""


def _tags_fault(client: McpClient) -> str:
    for name, given in (("include", client.include), ("exclude", client.exclude)):
        if given.tags:
            return (
                f"server {quote(client.name)} has an {name}.tags filter, which cannot be honored:"
                " its tools carry no tags; name tools instead"
            )
    return ""


def _value_fault(client: McpClient) -> str:
    server = f"server {quote(client.name)}"
    for kind, values in (("env", client.env), ("headers", client.headers)):
        for name in sorted(values):
            fault = _reference_fault(values[name])
            if fault:
                return f"{server} has an invalid {kind} value for {quote(name)}: {fault}"
    fault = _reference_fault(client.url) or _url_fault(client.url)
    return f"{server} has an invalid url {fault}" if fault else ""


def _reference_fault(text: str) -> str:
    try:
        references.check(text)
    except ConfigError as exc:
        return str(exc)
    return ""


def _url_fault(url: str) -> str:
    if not url or references.has_reference(url):
        return ""
    fault = address_fault(url)
    return f"{quote(references.refused_url(url))}: {fault}" if fault else ""
