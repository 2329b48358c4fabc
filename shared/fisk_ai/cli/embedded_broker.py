"""The broker of a whole fleet on one machine: a private one that keeps what it stores.

Its address and credentials stay the same from one start to the next, as far as the port is free, so
that workers and terminals elsewhere on this machine come back by themselves. They are in one file,
its owner's alone, beside the store: a NATS context, to which a link leads from where contexts are
looked for. A context of somebody else is never touched. Rules: ``docs/reference/serving.md``.
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from fisk_ai import filestore
from fisk_ai.bus import contexts, files
from fisk_ai.bus.broker import Broker, Login
from fisk_ai.cli.provision import provision
from fisk_ai.errors import ConfigError, SetupError
from fisk_ai.sessions.file_directory import state_directory

if TYPE_CHECKING:
    from fisk_ai.config import Config

FILE: Final = "context.json"
_LOOPBACK: Final = "127.0.0.1"


class _Kept(msgspec.Struct):
    """What a broker on this store was reached by."""

    url: str
    user: str
    password: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """A running broker, the file that others reach it by, and the context that leads to it.

    ``context`` is empty where none could be made without touching somebody else's.
    """

    broker: Broker
    file: Path
    context: str


def directory_of(state_dir: str | None, environ: Mapping[str, str]) -> Path:
    """Return where the broker keeps its store and its login."""
    base = Path(state_dir).absolute() if state_dir else state_directory(environ)
    return base / "broker"


@asynccontextmanager
async def embedded(
    config: Config, directory: Path, environ: Mapping[str, str]
) -> AsyncGenerator[Embedded]:
    """Start a broker on the store in ``directory``, provision it, and stop it at the end.

    Raises:
        SetupError: it could not be started, another one runs on the store, or what is stored there
            cannot be used.
    """
    file = directory / FILE
    login = _login(file)
    broker = await Broker.start(directory=directory, jetstream=True, environ=environ, login=login)
    try:
        _write(file, broker)
        context = _linked(file, config, environ)
        name = context or str(file)
        options = contexts.Context(
            name=name, url=broker.url, user=broker.user, password=broker.password
        ).options("provision")
        await provision(options, [config])
        yield Embedded(broker, file, context)
    finally:
        await broker.stop()


def _login(file: Path) -> Login:
    """Return how the store's last broker was reached, else something new."""
    try:
        kept = msgspec.json.decode(files.read(file), type=_Kept)
        port = urlsplit(kept.url).port or -1
    except (OSError, ValueError, msgspec.MsgspecError):  # no broker yet, or a file of no use
        return Login.random()
    login = Login(kept.user, kept.password, port)
    return login if _is_free(port) else replace(login, port=-1)


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, max(port, 0)))
        except OSError:
            return False
    return True


def _write(file: Path, broker: Broker) -> None:
    context = {
        "description": "the embedded broker of fisk-ai serve",
        "url": broker.url,
        "user": broker.user,
        "password": broker.password,
    }
    try:
        filestore.replace(file, json.dumps(context, indent=2).encode(), prefix=f".{FILE}-")
    except OSError as exc:
        raise SetupError(f'"{file}" cannot be written: {exc.strerror}') from exc


def _linked(file: Path, config: Config, environ: Mapping[str, str]) -> str:
    """Return the context that leads to ``file``: the one of the configuration, else one of ours."""
    for name in (config.nats_context, f"fisk-ai-{config.identity}"):
        try:
            if name and _is_linked(contexts.path_of(name, environ), file):
                return name
        except (OSError, ConfigError):  # no place for contexts here, or not ours to write
            continue
    return ""


def _is_linked(link: Path, file: Path) -> bool:
    """Make a link and say whether it leads to ``file``; one of an earlier store is replaced."""
    link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if link.is_symlink() and not link.exists():
        link.unlink()
    if not link.is_symlink() and not link.exists():
        link.symlink_to(file)
    return link.is_symlink() and link.resolve() == file.resolve()
