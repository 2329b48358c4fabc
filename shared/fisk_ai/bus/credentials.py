"""Keys of the NATS world: seeds and public keys as text, and the credentials file that holds one.

No message quotes a seed, a token or a line of such a file. The library that reads and signs is
imported with the first key: most connections have none.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, cast

from fisk_ai.bus import files
from fisk_ai.errors import SetupError

_JWT: Final = re.compile(r"-+BEGIN NATS USER JWT-+\s+(\S+)\s+-+END NATS USER JWT-+")
_KEY: Final = re.compile(r"-+BEGIN USER NKEY SEED-+\s+(\S+)\s+-+END USER NKEY SEED-+")


class _KeyPair(Protocol):
    @property
    def public_key(self) -> bytes: ...
    def sign(self, data: bytes, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Key:
    """A key pair, by the text of its seed."""

    seed: str = field(repr=False)

    def public(self) -> str:
        """Return the public key as text, such as ``UABC...``."""
        return self._pair().public_key.decode().rstrip("=")

    def sign(self, nonce: str) -> bytes:
        """Return the signature of a server's nonce in the form that it takes."""
        return base64.b64encode(self._pair().sign(nonce.encode()))

    def _pair(self) -> _KeyPair:
        import nkeys  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] - it ships no types

        return cast("_KeyPair", nkeys.from_seed(self.seed.encode()))  # pyright: ignore[reportUnknownMemberType] - untyped


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a credentials file holds: the token of a user, and the key that proves who holds it."""

    jwt: str = field(repr=False)
    key: Key


def read_key(text: str, source: str) -> Key:
    """Return the key of a seed; ``source`` says in a message where it was found.

    Raises:
        SetupError: it is no seed.
    """
    seed = text.strip()
    if not _is_seed(seed):
        fault = "it is cut short or mistyped" if seed.startswith("S") else "it must begin with S"
        raise SetupError(f"{source} is no nkey seed: {fault}")
    return Key(seed)


def read_key_file(path: Path, source: str) -> Key:
    """Return the key in a file that holds one seed; ``source`` as in :func:`read_key`.

    Raises:
        SetupError: it cannot be read, or holds no seed.
    """
    return read_key(_read(path, source), source)


def read_credentials(path: Path, source: str) -> Credentials:
    """Return what a credentials file holds; ``source`` as in :func:`read_key`.

    Raises:
        SetupError: it cannot be read, or lacks the token or the seed of a user.
    """
    text = _read(path, source)
    token, seed = _JWT.search(text), _KEY.search(text)
    if token is None or seed is None:
        raise SetupError(f"{source} is no credentials file: it holds no user token and seed")
    return Credentials(token[1], read_key(seed[1], f"the seed in {source}"))


def _read(path: Path, source: str) -> str:
    try:
        raw = files.read(path)
    except (OSError, ValueError) as exc:
        raise SetupError(f"{source} cannot be read: {files.reason(exc)}") from exc
    return raw.decode(errors="replace")


def _is_seed(text: str) -> bool:
    """Say whether ``text`` is what its key is spelled as: the library looks at no checksum."""
    import nkeys  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] - it ships no types

    try:
        kind, raw = nkeys.decode_seed(text.encode())  # pyright: ignore[reportUnknownMemberType] - untyped
        return nkeys.encode_seed(raw, kind) == text.encode()  # pyright: ignore[reportUnknownMemberType] - untyped
    except (nkeys.NkeysError, ValueError):
        return False
