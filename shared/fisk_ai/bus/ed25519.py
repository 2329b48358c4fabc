"""Ed25519 signatures, for logging in at a broker by key: a signature of each server's nonce.

Written out from RFC 8032 on top of the standard library's SHA-512, so that the plain install can
use credentials files. It is not constant in time: it runs once for each connection, over a nonce,
in a process that holds the seed anyway. It is for nothing else.
"""

from __future__ import annotations

import hashlib
from typing import Final

SEED_BYTES: Final = 32

_P: Final = 2**255 - 19
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _P) % _P
_BASE_Y: Final = 4 * pow(5, -1, _P) % _P
_BASE_X: Final = 15112221349535400772501151409588531511454012693041857206046113283949847762202

_Point = tuple[int, int, int, int]
"""Extended coordinates: x = X/Z, y = Y/Z and X*Y = Z*T."""

_BASE: Final[_Point] = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)
_NEUTRAL: Final[_Point] = (0, 1, 1, 0)


def public_key(seed: bytes) -> bytes:
    """Return the 32 bytes of the public key of a 32-byte seed."""
    scalar, _ = _expand(seed)
    return _encode(_times(scalar, _BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the 64 bytes of the signature of ``message``."""
    scalar, prefix = _expand(seed)
    public = _encode(_times(scalar, _BASE))
    nonce = _number(prefix, message) % _ORDER
    commitment = _encode(_times(nonce, _BASE))
    challenge = _number(commitment, public, message) % _ORDER
    return commitment + ((nonce + challenge * scalar) % _ORDER).to_bytes(32, "little")


def _expand(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | (1 << 254), digest[32:]


def _number(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def _add(first: _Point, second: _Point) -> _Point:
    a = (first[1] - first[0]) * (second[1] - second[0]) % _P
    b = (first[1] + first[0]) * (second[1] + second[0]) % _P
    c = 2 * first[3] * second[3] * _D % _P
    d = 2 * first[2] * second[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(scalar: int, point: _Point) -> _Point:
    total = _NEUTRAL
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point = _add(point, point)
        scalar >>= 1
    return total


def _encode(point: _Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")
