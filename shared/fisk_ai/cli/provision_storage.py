"""What each role needs of the streams and buckets of an agent.

Rules: ``docs/how-to/nats-permissions.md``.
"""

from __future__ import annotations

from collections.abc import Iterator

from fisk_ai.bus import rights
from fisk_ai.bus.bucket import STREAM_PREFIX
from fisk_ai.bus.wishes import Isolation
from fisk_ai.config import Config
from fisk_ai.memory.bucket_option import BucketOption, bucket_of
from fisk_ai.memory.store import MemoryConfig
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.stream_option import stream_of, subjects_of

_JETSTREAM = "jetstream"

Kept = tuple[str, tuple[str, ...]]
"""A NATS context and what is published over it."""


def session_stream(config: Config) -> str:
    """Return the stream that sessions are kept in, empty where they are files.

    Raises:
        ConfigError: an option that cannot be used.
    """
    declared = config.harness.sessions
    if declared.backend != _JETSTREAM:
        return ""
    with config.placing():
        return stream_of(StoreConfig(options=declared.options))


def memory_bucket(config: Config) -> BucketOption | None:
    """Return the bucket of memories, ``None`` where there is none; raises as above."""
    declared = config.harness.memory
    if not declared.enabled or declared.backend != _JETSTREAM:
        return None
    with config.placing():
        return bucket_of(MemoryConfig(identity=config.identity, options=declared.options))


def kept(config: Config, whose: Isolation) -> Iterator[Kept]:
    """Yield what the worker publishes to keep something, by the context it does so over."""
    harness = config.harness
    if stream := session_stream(config):
        records = subjects_of(stream)
        yield _named(config, harness.sessions.options), (*rights.reading(stream, records), records)
    if bucket := memory_bucket(config):
        keys = f"{bucket.prefix}>"
        yield _named(config, harness.memory.options), rights.keeping(bucket.bucket, keys)
    if (jobs := config.expose.agent.jobs) is not None:
        yield jobs.nats_context or config.nats_context, _working(jobs.queue)
    if config.expose.agent.slack is not None:
        yield config.nats_context, _turning(config.identity, "slack", whose)


def operated(config: Config, whose: Isolation) -> Iterator[tuple[str, ...]]:
    """Yield what an operator publishes to look into what is kept, and to act on it."""
    if stream := session_stream(config):
        yield (*rights.reading(stream, subjects_of(stream)), *rights.purging(stream))
    if bucket := memory_bucket(config):
        yield rights.looking(f"{STREAM_PREFIX}{bucket.bucket}")
    if (jobs := config.expose.agent.jobs) is not None:
        yield _queueing(jobs.queue)
    if config.expose.agent.slack is not None:
        yield _dead_letters(config.identity, whose)


def watched(config: Config) -> tuple[str, ...]:
    """Return what an operator listens to beside its inbox."""
    return ("CHORIA_AJ.E.task_state.*",) if config.expose.agent.jobs is not None else ()


def gateway(identity: str, channel: str, whose: Isolation) -> tuple[str, ...]:
    """Return what the gateway of a channel publishes for its turns and for what it keeps.

    It makes no consumer: whoever may make one can have the server publish anywhere.
    """
    turns, replies = whose.name("FISK_AI_TURN"), whose.name("FISK_AI_REPLY")
    bucket = whose.name("FISK_AI_GATEWAY")
    durable = f"{identity}_{channel}"
    return (
        f"choria.fisk-ai.turn.{identity}.{channel}",
        *rights.FINDING,
        f"$JS.API.STREAM.INFO.{turns}",
        f"$JS.API.CONSUMER.INFO.{turns}.{durable}",
        *rights.looking(replies),
        *rights.consuming(replies, durable),
        *rights.looking(f"{STREAM_PREFIX}{bucket}"),
        f"$KV.{bucket}.{identity}.>",
    )


def _named(config: Config, options: dict[str, object]) -> str:
    return str(options.get("nats_context") or config.nats_context)


def _turning(identity: str, channel: str, whose: Isolation) -> tuple[str, ...]:
    """Return what a worker publishes to take turns and to reply to them."""
    turns, replies = whose.name("FISK_AI_TURN"), whose.name("FISK_AI_REPLY")
    return (
        *rights.FINDING,
        *rights.looking(turns),
        *rights.consuming(turns, f"{identity}_{channel}"),
        *rights.looking(replies),
        *rights.looking(whose.name("FISK_AI_DEAD")),
        f"choria.fisk-ai.turn.{identity}.{channel}",
        f"choria.fisk-ai.reply.{identity}.{channel}.*.*",
        f"choria.fisk-ai.dead.{identity}.{channel}",
        f"fisk.delta.{identity}.{channel}.*.*",
    )


def _dead_letters(identity: str, whose: Isolation) -> tuple[str, ...]:
    """Return what an operator publishes to read and settle dead letters."""
    dead, turns = whose.name("FISK_AI_DEAD"), whose.name("FISK_AI_TURN")
    return (
        *rights.FINDING,
        *rights.reading(dead, f"choria.fisk-ai.dead.{identity}.*"),
        f"$JS.API.STREAM.MSG.DELETE.{dead}",
        *rights.looking(turns),
        f"choria.fisk-ai.turn.{identity}.*",
    )


def _working(queue: str) -> tuple[str, ...]:
    """Return what a worker publishes to take jobs and to store what came of them."""
    items = f"CHORIA_AJ_Q_{queue}"
    return (
        *rights.looking("CHORIA_AJ_TASKS"),
        f"$JS.API.STREAM.INFO.{items}",
        *rights.consuming(items, "WORKERS"),
        "CHORIA_AJ.T.*",
        "CHORIA_AJ.E.task_state.*",
    )


def _queueing(queue: str) -> tuple[str, ...]:
    """Return what an operator publishes to submit jobs and to look at them."""
    return (
        *rights.reading("CHORIA_AJ_TASKS", "CHORIA_AJ.T.*"),
        *rights.looking(f"CHORIA_AJ_Q_{queue}"),
        "CHORIA_AJ.T.*",
        f"CHORIA_AJ.Q.{queue}.*",
        "CHORIA_AJ.E.task_state.*",
    )
