"""Keys of the NATS world: seeds and public keys as text, and the credentials file that holds one.

No message quotes a seed, a token or a line of such a file.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fisk_ai.bus import ed25519
from fisk_ai.errors import SetupError

FILE_LIMIT_BYTES: Final = 65_536
"""A credentials file has two; a longer one is another file."""

_SEED: Final = 18 << 3
"""The prefix that makes a seed begin with ``S``; the kind of key follows in the next bits."""

_JWT: Final = re.compile(r"-+BEGIN NATS USER JWT-+\s+(\S+)\s+-+END NATS USER JWT-+")
_KEY: Final = re.compile(r"-+BEGIN USER NKEY SEED-+\s+(\S+)\s+-+END USER NKEY SEED-+")


@dataclass(frozen=True, slots=True)
class Key:
    """A key pair, by its 32-byte seed; ``kind`` is the prefix its public text begins with."""

    seed: bytes = field(repr=False)
    kind: int

    def public(self) -> str:
        """Return the public key as text, such as ``UABC...``."""
        raw = bytes([self.kind]) + ed25519.public_key(self.seed)
        return _text(raw + _checksum(raw))

    def sign(self, nonce: str) -> bytes:
        """Return the signature of a server's nonce in the form that it takes."""
        return base64.b64encode(ed25519.sign(self.seed, nonce.encode()))


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
    try:
        padded = text.strip() + "=" * (-len(text.strip()) % 8)
        raw = base64.b32decode(padded)
    except (binascii.Error, ValueError) as exc:
        raise SetupError(f"{source} is no nkey seed: it must begin with S") from exc
    whole = len(raw) == ed25519.SEED_BYTES + 4 and _checksum(raw[:-2]) == raw[-2:]
    if not whole or _text(raw) != text.strip() or raw[0] & 0xF8 != _SEED:
        raise SetupError(f"{source} is no nkey seed: it is cut short or mistyped")
    return Key(raw[2:-2], (raw[0] & 7) << 5 | raw[1] >> 3)


def read_key_file(path: Path) -> Key:
    """Return the key in a file that holds one seed.

    Raises:
        SetupError: it cannot be read, or holds no seed.
    """
    return read_key(_read(path), f'the nkey file "{path}"')


def read_credentials(path: Path) -> Credentials:
    """Return what a credentials file holds.

    Raises:
        SetupError: it cannot be read, or lacks the token or the seed of a user.
    """
    text = _read(path)
    token, seed = _JWT.search(text), _KEY.search(text)
    if token is None or seed is None:
        raise SetupError(f'the credentials file "{path}" holds no user token and seed')
    return Credentials(token[1], read_key(seed[1], f'the seed in "{path}"'))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(FILE_LIMIT_BYTES).decode()
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it holds no text"
        raise SetupError(f'"{path}" cannot be read: {reason}') from exc


def _text(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=")


def _checksum(data: bytes) -> bytes:
    return binascii.crc_hqx(data, 0).to_bytes(2, "little")
