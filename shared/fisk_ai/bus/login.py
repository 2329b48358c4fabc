"""How a client proves to a broker who it is, and how the connection is encrypted.

Files are read once before the first attempt, so that a bad one is told in a sentence, and again for
every later connection, so that a renewed one counts.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.bus import credentials
from fisk_ai.bus.credentials import Credentials
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
        SetupError: a credentials, key or certificate file cannot be used; names the file.
    """
    tls = _context(options.tls) if options.tls is not None else None
    needs_tls = tls is not None or any(s.startswith("tls://") for s in options.servers())
    if options.creds:
        return _by_credentials(Path(options.creds), tls, needs_tls=needs_tls)
    if options.nkey:
        return _by_key(Path(options.nkey), tls, needs_tls=needs_tls)
    if options.user_jwt:
        key = credentials.read_key(options.user_seed, "the user_seed")
        held = Credentials(options.user_jwt, key)
        return _by_token(lambda: held, tls, needs_tls=needs_tls)
    return Login(tls=tls, needs_tls=needs_tls)


def _by_credentials(path: Path, tls: ssl.SSLContext | None, *, needs_tls: bool) -> Login:
    credentials.read_credentials(path)
    return _by_token(lambda: credentials.read_credentials(path), tls, needs_tls=needs_tls)


def _by_token(
    read: Callable[[], Credentials], tls: ssl.SSLContext | None, *, needs_tls: bool
) -> Login:
    def sign(nonce: str) -> bytes:
        return read().key.sign(nonce)

    def token() -> bytes:
        return read().jwt.encode()

    return Login(sign=sign, jwt=token, tls=tls, needs_tls=needs_tls)


def _by_key(path: Path, tls: ssl.SSLContext | None, *, needs_tls: bool) -> Login:
    public = credentials.read_key_file(path).public()
    return Login(
        sign=lambda nonce: credentials.read_key_file(path).sign(nonce),
        public_key=public,
        tls=tls,
        needs_tls=needs_tls,
    )


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        if tls.ca:
            context = ssl.create_default_context(cafile=tls.ca)
        if tls.cert:
            context.load_cert_chain(tls.cert, tls.key or None, password=_refuse_password)
    except (OSError, ValueError) as exc:
        names = ", ".join(f'"{name}"' for name in (tls.ca, tls.cert, tls.key) if name)
        reason = (exc.strerror if isinstance(exc, OSError) else "") or str(exc)
        raise SetupError(f"the certificate files {names} cannot be used: {reason}") from exc
    return context


def _refuse_password() -> str:
    """Stand in for the prompt with which OpenSSL would stop a service at its terminal."""
    raise ValueError("the key is locked by a password")
