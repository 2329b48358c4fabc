"""Which bucket memories are kept in and under which prefix; needs no broker.

Rules: ``docs/reference/memory.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from fisk_ai import options
from fisk_ai.errors import ConfigError, MemoryInputError
from fisk_ai.memory.limits import VALUE_LIMIT_BYTES, check_key
from fisk_ai.memory.store import OPTIONS_KEY, MemoryConfig

BACKEND: Final = "jetstream"
BUCKET_KEY: Final = f"{OPTIONS_KEY}.bucket"
PREFIX_KEY: Final = f"{OPTIONS_KEY}.prefix"

_BUCKET: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")


class _Options(msgspec.Struct, frozen=True):
    """``nats_context`` is read by whoever opens the connection."""

    bucket: str = ""
    prefix: str | None = None
    no_require_read_before_update: bool = False
    nats_context: str = ""


@dataclass(frozen=True, slots=True)
class BucketOption:
    """A bucket; ``prefix`` is empty in a flat one, else it ends in a dot."""

    bucket: str
    prefix: str
    reads_before_update: bool


def bucket_of(config: MemoryConfig) -> BucketOption:
    """Return where an agent's memories are kept: under its identity unless a prefix is named.

    Raises:
        ConfigError: an option that this backend does not take, no bucket, or a prefix that is none.
    """
    found = options.decode(f"{BACKEND} memory", config.options, _Options, key=OPTIONS_KEY)
    if not found.bucket:
        raise ConfigError(
            f"{BUCKET_KEY} is required for the jetstream memory backend: name a bucket that exists"
            f" already; make one with: {creation('FISK_MEMORY')}",
            key=BUCKET_KEY,
        )
    if not _BUCKET.fullmatch(found.bucket):
        raise ConfigError(
            f"{BUCKET_KEY}: {found.bucket[:80]!r} can be no bucket's name", key=BUCKET_KEY
        )
    prefix = config.identity if found.prefix is None else found.prefix
    if prefix:
        _check(prefix, is_identity=found.prefix is None)
    return BucketOption(
        found.bucket, f"{prefix}." * bool(prefix), not found.no_require_read_before_update
    )


def creation(bucket: str) -> str:
    """Return the command that makes a bucket as memories need it."""
    return f"nats kv add {bucket} --history=1 --max-value-size={VALUE_LIMIT_BYTES}"


def _check(prefix: str, *, is_identity: bool) -> None:
    try:
        check_key(prefix)
    except MemoryInputError as exc:
        what = "the identity" if is_identity else "it"
        raise ConfigError(
            f"{PREFIX_KEY}: {what} cannot stand before the keys of memories"
            f" ({str(exc).replace('the key', 'it', 1)}); set a prefix that can, or an empty one",
            key=PREFIX_KEY,
        ) from exc
