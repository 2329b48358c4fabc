"""How a client proves to a broker who it is, and how the connection is encrypted.

Files are read once before the first attempt, so that a bad one is told in a sentence, and again for
every later connection, so that a renewed one counts.
"""

from __future__ import annotations

import contextlib
import errno
import ssl
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path

from fisk_ai.bus import credentials, files
from fisk_ai.bus.credentials import Credentials, Key
from fisk_ai.bus.options import ConnectOptions, Tls
from fisk_ai.errors import SetupError


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What the client library is given; ``None`` for what this login does not use.

    ``needs_tls`` says that nothing may be sent to a broker that does not encrypt.
    """

    sign: Callable[[str], bytes] | None = None
    jwt: Callable[[], bytes] | None = None
    public_key: str = ""
    tls: ssl.SSLContext | None = None
    needs_tls: bool = False


def log_in(options: ConnectOptions) -> Login:
    """Prepare a login; reads files.

    Raises:
        SetupError: a credentials, key or certificate file cannot be used; names the key or the
            setting that leads to it.
    """
    tls = _context(options.tls, options.named) if options.tls is not None else None
    needs_tls = tls is not None or any(s.startswith("tls://") for s in options.servers())
    login = Login(tls=tls, needs_tls=needs_tls)
    if options.creds:
        return _by_credentials(login, options)
    if options.nkey:
        return _by_key(login, options)
    if options.user_jwt:
        key = credentials.read_key(options.user_seed, options.named("user_seed"))
        held = Credentials(options.user_jwt, key)
        return _by_token(login, lambda: held)
    return login


def _by_credentials(login: Login, options: ConnectOptions) -> Login:
    def read() -> Credentials:
        return credentials.read_credentials(Path(options.creds), options.named("creds"))

    read()
    return _by_token(login, read)


def _by_token(login: Login, read: Callable[[], Credentials]) -> Login:
    def sign(nonce: str) -> bytes:
        return read().key.sign(nonce)

    def token() -> bytes:
        return read().jwt.encode()

    return replace(login, sign=sign, jwt=token)


def _by_key(login: Login, options: ConnectOptions) -> Login:
    def read() -> Key:
        return credentials.read_key_file(Path(options.nkey), options.named("nkey"))

    def sign(nonce: str) -> bytes:
        return read().sign(nonce)

    return replace(login, sign=sign, public_key=read().public())


def _context(tls: Tls, named: Callable[[str], str]) -> ssl.SSLContext:
    with _using(named("ca")):
        if tls.ca:
            files.require(Path(tls.ca))
        context = ssl.create_default_context(cafile=tls.ca or None)
    if tls.cert:
        with _using(named("cert")):
            files.require(Path(tls.cert))
        with _using(named("key")):
            files.require(Path(tls.key or tls.cert))
        with _using(named("cert with its key")):
            context.load_cert_chain(tls.cert, tls.key or None, password=_refuse_password)
    return context


@contextlib.contextmanager
def _using(source: str) -> Generator[None, None, None]:
    try:
        yield
    except (OSError, ValueError) as exc:
        raise SetupError(f"{source} cannot be used: {files.reason(exc)}") from exc


def _refuse_password() -> str:
    """Stand in for the prompt with which OpenSSL would stop a service at its terminal."""
    raise PermissionError(errno.EACCES, "the key is locked by a password")
