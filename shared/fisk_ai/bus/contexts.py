"""Named connections: the context files that the ``nats`` command keeps for a person.

Read here and never written. A file may hold a password, so no message repeats a value of it.
Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from fisk_ai.bus import files
from fisk_ai.bus.options import (
    API_PREFIX,
    CREDS_VARIABLE,
    DEFAULT_INBOX,
    INBOX_VARIABLE,
    URL_VARIABLE,
    ConnectOptions,
    Tls,
    prefix_fault,
)
from fisk_ai.errors import ConfigError, SetupError

DEFAULT_URL: Final = "nats://127.0.0.1:4222"

NAME_LIMIT_BYTES: Final = 250
"""With ``.json`` behind it the longest name of a file."""

SHOWN_LIMIT: Final = 80
"""Characters that a refusal repeats of what is no name: enough to find it."""

_KEY: Final = "nats_context"
_PATHS: Final = ("creds", "nkey", "cert", "key", "ca")


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A context as its file says; an empty text is a key that is not written.

    Keys for the eye and keys of a newer ``nats`` are passed over. A ``jetstream_api_prefix`` counts
    before a ``jetstream_domain``.
    """

    name: str = ""
    url: str = ""
    user: str = ""
    password: str = ""
    token: str = ""
    creds: str = ""
    nkey: str = ""
    user_jwt: str = ""
    user_seed: str = ""
    cert: str = ""
    key: str = ""
    ca: str = ""
    tls_first: bool = False
    inbox_prefix: str = ""
    socks_proxy: str = ""
    nsc: str = ""
    jetstream_domain: str = ""
    jetstream_api_prefix: str = ""
    jetstream_event_prefix: str = ""

    def __repr__(self) -> str:
        """Name the context and nothing of what it holds."""
        return f"Context(name={self.name!r})"

    def options(self, purpose: str) -> ConnectOptions:
        """Return what it takes to connect; of several ways to log in the first one counts.

        The order is user, credentials file, key file, token of a user with its seed, plain token.
        """
        options = ConnectOptions(
            self.url or DEFAULT_URL,
            purpose,
            tls=self._tls(),
            context=self.name,
            inbox_prefix=self.inbox_prefix or DEFAULT_INBOX,
            api_prefix=self._api_prefix(),
        )
        if self.user:
            return replace(options, user=self.user, password=self.password)
        if self.creds:
            return replace(options, creds=self.creds)
        if self.nkey:
            return replace(options, nkey=self.nkey)
        if self.user_jwt:
            return replace(options, user_jwt=self.user_jwt, user_seed=self.user_seed)
        return replace(options, token=self.token)

    @property
    def logs_in(self) -> bool:
        """Whether it says who the client is."""
        return bool(self.user or self.creds or self.nkey or self.user_jwt or self.token)

    def _api_prefix(self) -> str:
        if self.jetstream_api_prefix:
            return self.jetstream_api_prefix.rstrip(".")
        return f"$JS.{self.jetstream_domain}.API" if self.jetstream_domain else API_PREFIX

    def _tls(self) -> Tls | None:
        if not (self.cert or self.key or self.ca or self.tls_first):
            return None
        return Tls(cert=self.cert, key=self.key, ca=self.ca, first=self.tls_first)


def named_or_given(
    name: str, purpose: str, environ: Mapping[str, str], *, url: str, creds: str
) -> ConnectOptions:
    """Return what it takes to connect to the context ``name``, else to the address ``url``.

    The address counts where no context is named, or none of that name is on this machine.

    Raises:
        ConfigError, SetupError: the context cannot be used, or there is neither.
    """
    if name and (exists(name, environ) or not url):
        return load(name, environ).options(purpose)
    if url:
        return ConnectOptions(url, purpose, creds=creds)
    raise SetupError(
        f"no broker was named; set nats_context in the configuration that is read (--config), or"
        f" {URL_VARIABLE} to nats://host:port",
        key=URL_VARIABLE,
    )


def from_environment(name: str, purpose: str, environ: Mapping[str, str]) -> ConnectOptions:
    """Return :func:`named_or_given` of what the variables of a command say, its inboxes, too.

    Raises:
        ConfigError, SetupError: as there.
    """
    url, creds, inbox = (
        environ.get(variable, "").strip()
        for variable in (URL_VARIABLE, CREDS_VARIABLE, INBOX_VARIABLE)
    )
    options = named_or_given(name, purpose, environ, url=url, creds=creds)
    return replace(options, inbox_prefix=inbox or options.inbox_prefix)


def directory(environ: Mapping[str, str]) -> Path:
    """Return where contexts are kept."""
    configured = environ.get("XDG_CONFIG_HOME", "")
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return (Path(configured) if configured else home / ".config") / "nats" / "context"


def path_of(name: str, environ: Mapping[str, str]) -> Path:
    """Return the file of a context, which need not be there.

    Raises:
        ConfigError: the name could lead out of the directory of contexts, or be no file's.
    """
    if not name or ".." in name or os.sep in name or "\\" in name or not _names_a_file(name):
        raise ConfigError(
            f"nats_context {_shown(name)} names no context: write one of those that"
            " 'nats context ls' lists",
            key=_KEY,
        )
    return directory(environ) / f"{name}.json"


def _shown(name: str) -> str:
    """Return what was written in place of a name, unless it may be an address with a password."""
    return "(an address)" if "@" in name else json.dumps(name[:SHOWN_LIMIT])


def _names_a_file(name: str) -> bool:
    return name.isprintable() and len(name.encode()) <= NAME_LIMIT_BYTES


def exists(name: str, environ: Mapping[str, str]) -> bool:
    """Say whether anything is there under the name of the context, be it usable or not.

    Raises:
        ConfigError: as :func:`path_of`.
        SetupError: the directory of contexts cannot be looked into.
    """
    path = path_of(name, environ)
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as exc:
        raise _refused(name, f'"{path}" cannot be read: {files.reason(exc)}') from exc
    return True


def load(name: str, environ: Mapping[str, str]) -> Context:
    """Return the context of that name.

    Raises:
        ConfigError: as :func:`path_of`.
        SetupError: there is none, or its file holds something that no connection can use.
    """
    path = path_of(name, environ)
    try:
        raw = files.read(path)
    except FileNotFoundError as exc:
        raise _refused(
            name,
            f'"{path}" does not exist; make it with nats context add, or set FISK_AI_NATS_URL',
        ) from exc
    except (OSError, ValueError) as exc:
        raise _refused(name, f'"{path}" cannot be read: {files.reason(exc)}') from exc
    return _checked(_expanded(_decoded(name, path, raw), environ))


def _decoded(name: str, path: Path, raw: bytes) -> Context:
    if len(raw) > files.LIMIT_BYTES:
        raise _refused(name, f'"{path}" is too large to be a context')
    try:
        return msgspec.structs.replace(msgspec.json.decode(raw, type=Context), name=name)
    except msgspec.ValidationError as exc:
        key = str(exc).partition("`$.")[2].rstrip("`")
        what = f"its {key} must be {'true or false' if key == 'tls_first' else 'text'}"
        raise _refused(name, what if key else f'"{path}" must hold one JSON object') from exc
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise _refused(name, f'"{path}" is no JSON') from exc


def _expanded(context: Context, environ: Mapping[str, str]) -> Context:
    """Let a path begin at home, as the ``nats`` command does."""
    home = environ.get("HOME", "")
    paths = {name: str(getattr(context, name)) for name in _PATHS}
    at_home = {
        name: str(Path(home) / path[2:]) for name, path in paths.items() if path.startswith("~/")
    }
    return msgspec.structs.replace(context, **at_home) if home else context


def _checked(context: Context) -> Context:
    if context.socks_proxy:
        raise _refused(context.name, "its socks_proxy is not built yet: reach the broker directly")
    if context.nsc and not context.logs_in:
        raise _refused(
            context.name, "its nsc is not built yet: export the credentials and set creds"
        )
    if context.user_jwt and not context.user_seed:
        raise _refused(context.name, "its user_jwt needs the user_seed that proves who holds it")
    if bool(context.cert) != bool(context.key):
        raise _refused(context.name, "its cert and key belong together: set both")
    if context.inbox_prefix and (fault := prefix_fault(context.inbox_prefix)):
        raise _refused(context.name, f"its inbox_prefix {fault}")
    return context


def _refused(name: str, reason: str) -> SetupError:
    return SetupError(f'connecting to NATS context "{name}": {reason}', key=_KEY)
