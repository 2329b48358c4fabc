"""What a user of the broker must be allowed to publish for each use of a stream.

Exactly what the modules of this package ask: an API subject that is not here is not needed.
Rules: ``docs/how-to/nats-permissions.md``.
"""

from __future__ import annotations

from typing import Final

from fisk_ai.bus.bucket import STREAM_PREFIX
from fisk_ai.bus.options import API_PREFIX
from fisk_ai.bus.wishes import StreamWish, Wish

FINDING: Final = (f"{API_PREFIX}.STREAM.NAMES",)
"""Finding a stream by a subject."""


def looking(stream: str) -> tuple[str, ...]:
    """Return what it takes to bind a stream and to read single messages of it."""
    return (f"{API_PREFIX}.STREAM.INFO.{stream}", f"{API_PREFIX}.STREAM.MSG.GET.{stream}")


def reading(stream: str, subjects: str) -> tuple[str, ...]:
    """Return what it takes to read what a stream holds on ``subjects``, in its order."""
    return (
        *looking(stream),
        f"{API_PREFIX}.CONSUMER.CREATE.{stream}.*.{subjects}",
        f"{API_PREFIX}.CONSUMER.MSG.NEXT.{stream}.*",
        f"{API_PREFIX}.CONSUMER.DELETE.{stream}.*",
    )


def consuming(stream: str, consumer: str) -> tuple[str, ...]:
    """Return what it takes to work off a durable consumer."""
    return (
        f"{API_PREFIX}.CONSUMER.INFO.{stream}.{consumer}",
        f"{API_PREFIX}.CONSUMER.MSG.NEXT.{stream}.{consumer}",
        f"$JS.ACK.{stream}.{consumer}.>",
    )


def purging(stream: str) -> tuple[str, ...]:
    """Return what it takes to remove messages by their subjects."""
    return (f"{API_PREFIX}.STREAM.PURGE.{stream}",)


def keeping(bucket: str, keys: str) -> tuple[str, ...]:
    """Return what it takes to read and write ``keys`` of a bucket, which may have wildcards."""
    subjects = f"$KV.{bucket}.{keys}"
    return (*reading(f"{STREAM_PREFIX}{bucket}", subjects), subjects)


def provisioning(wish: Wish) -> tuple[str, ...]:
    """Return what it takes to make and change an object; nobody is let to remove one.

    The ``nats`` tool asks for the account before it makes a bucket.
    """
    if isinstance(wish, StreamWish):
        verbs = ("INFO", "CREATE", "UPDATE")
        rights = tuple(f"{API_PREFIX}.STREAM.{verb}.{wish.name}" for verb in verbs)
        finding = FINDING if wish.found_by else ()
        account = (f"{API_PREFIX}.INFO",) if wish.name.startswith(STREAM_PREFIX) else ()
        return (*finding, *account, *rights)
    verbs = ("INFO", "DURABLE.CREATE")
    return tuple(f"{API_PREFIX}.CONSUMER.{verb}.{wish.place}" for verb in verbs)
