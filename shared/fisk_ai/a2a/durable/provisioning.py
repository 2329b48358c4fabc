"""What durable turns need at a broker, for whoever makes it; services only bind it.

Streams are shared by identities, since each of them is a group of its own in a cluster.
Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fisk_ai.a2a import subjects
from fisk_ai.bus.bucket import STREAM_PREFIX
from fisk_ai.bus.pulling import NANOSECONDS
from fisk_ai.bus.wishes import (
    LAYOUT,
    LAYOUT_FLAG,
    SHARED,
    ConsumerWish,
    Isolation,
    StreamWish,
    Wish,
)

TURNS: Final = "FISK_AI_TURN"
REPLIES: Final = "FISK_AI_REPLY"
DEAD: Final = "FISK_AI_DEAD"
GATEWAY: Final = "FISK_AI_GATEWAY"
"""What the streams and the bucket are called where nobody renamed them; services go by subject."""

MESSAGE_SIZE_BYTES: Final = 1_048_576
ACK_WAIT_S: Final = 60
"""The lease of a turn: it outlasts a failover and two renewals that were lost."""

DOORBELL_WAIT_S: Final = 30
DOORBELLS: Final = 64

QUEUE_LIMIT: Final = 1_000
REPLIES_LIMIT: Final = 5_000
"""Messages of one subject."""

REPLY_GIB: Final = 2
DEAD_MIB: Final = 256

_HOUR_S: Final = 3_600
_DAY_S: Final = 24 * _HOUR_S

_THREAD: Final = "0" * 64
"""A thread as any other, to ask who keeps its replies."""


def reply_place(identity: str, channel: str) -> str:
    """Return a subject that the reply stream of a channel takes; it is found by it."""
    return subjects.reply(identity, channel, _THREAD, "r")


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the streams: its shape, and how the ``nats`` tool says it."""

    name: str
    wide: str
    shape: Mapping[str, object]
    flags: str
    exact: tuple[str, ...]
    bounded: tuple[str, ...] = ()

    def subject(self, whose: Isolation) -> str:
        """Return what it takes: everything of its kind, or one identity's alone."""
        if not whose.identity:
            return self.wide
        root, last = self.wide.removesuffix(".*.*").removesuffix(".>"), self.wide[-1]
        return f"{root}.{whose.identity}.{last}"


_EXACT: Final = ("retention", "storage", "discard")
_KINDS: Final = {
    "turn": _Kind(
        name=TURNS,
        wide="choria.fisk-ai.turn.*.*",
        shape={
            "retention": "workqueue",
            "discard": "new",
            "discard_new_per_subject": True,
            "max_msgs_per_subject": QUEUE_LIMIT,
            "max_age": 0,
            "max_bytes": -1,
            "duplicate_window": _HOUR_S * NANOSECONDS,
        },
        flags=(
            "--retention=work --discard=new --discard-per-subject"
            f" --max-msgs-per-subject={QUEUE_LIMIT} --dupe-window=1h"
        ),
        exact=(*_EXACT, "discard_new_per_subject"),
    ),
    "reply": _Kind(
        name=REPLIES,
        wide="choria.fisk-ai.reply.>",
        shape={
            "retention": "limits",
            "discard": "old",
            "max_msgs_per_subject": REPLIES_LIMIT,
            "max_age": _DAY_S * NANOSECONDS,
            "max_bytes": REPLY_GIB * 1024**3,
            "duplicate_window": 600 * NANOSECONDS,
        },
        flags=(
            f"--retention=limits --discard=old --max-age=24h --max-bytes={REPLY_GIB}G"
            f" --max-msgs-per-subject={REPLIES_LIMIT} --dupe-window=10m"
        ),
        exact=_EXACT,
        bounded=("max_bytes",),
    ),
    "dead": _Kind(
        name=DEAD,
        wide="choria.fisk-ai.dead.>",
        shape={
            "retention": "limits",
            "discard": "new",
            "max_msgs_per_subject": -1,
            "max_age": 0,
            "max_bytes": DEAD_MIB * 1024**2,
            "duplicate_window": _HOUR_S * NANOSECONDS,
        },
        flags=f"--retention=limits --discard=new --max-bytes={DEAD_MIB}M --dupe-window=1h",
        exact=_EXACT,
        bounded=("max_bytes",),
    ),
}


def wishes(
    identity: str,
    channels: Sequence[str],
    *,
    key: str,
    replicas: int,
    whose: Isolation = SHARED,
) -> Iterator[Wish]:
    """Yield the streams, the bucket and the consumers that the turns of ``channels`` need."""
    places = {
        "turn": subjects.turn(identity, channels[0]),
        "reply": reply_place(identity, channels[0]),
        "dead": subjects.dead(identity, channels[0]),
    }
    for kind, place in places.items():
        yield _stream(_KINDS[kind], key, replicas, whose, found_by=place)
    yield _bucket(key, replicas, whose)
    for channel in channels:
        yield _consumer(
            whose.name(TURNS),
            consumer_name(identity, channel),
            subjects.turn(identity, channel),
            key=key,
            ack_wait_s=ACK_WAIT_S,
            pending=QUEUE_LIMIT,
        )
        yield _consumer(
            whose.name(REPLIES),
            consumer_name(identity, channel),
            subjects.replies_of_channel(identity, channel),
            key=key,
            ack_wait_s=DOORBELL_WAIT_S,
            pending=DOORBELLS,
        )


def consumer_name(identity: str, channel: str) -> str:
    """Return what the consumers of a channel are called, on the turn and on the reply stream."""
    return f"{identity}_{channel}"


def _stream(kind: _Kind, key: str, replicas: int, whose: Isolation, *, found_by: str) -> StreamWish:
    name, subject = whose.name(kind.name), kind.subject(whose)
    limits = ("max_age", "max_msgs_per_subject", "max_bytes", "max_msgs")
    config: dict[str, object] = {
        "name": name,
        "subjects": [subject],
        "storage": "file",
        "max_msgs": -1,
        "max_msg_size": -1,
        **kind.shape,
        "num_replicas": replicas,
        "metadata": LAYOUT,
    }
    return StreamWish(
        name=name,
        key=key,
        command=(
            f"nats stream add {name} --subjects '{subject}' --storage=file {kind.flags}"
            f" {LAYOUT_FLAG} --replicas={replicas} --defaults"
        ),
        config=config,
        exact=kind.exact,
        least={
            **{limit: _least(config[limit]) for limit in limits if limit not in kind.bounded},
            "max_msg_size": MESSAGE_SIZE_BYTES,
            "num_replicas": replicas,
        },
        keeps_subjects=lambda found: subject in found,
        bounded=kind.bounded,
        found_by=found_by,
    )


def _least(limit: object) -> float:
    number = float(str(limit))
    return number if number > 0 else math.inf


def _bucket(key: str, replicas: int, whose: Isolation) -> StreamWish:
    bucket = whose.name(GATEWAY)
    name = f"{STREAM_PREFIX}{bucket}"
    return StreamWish(
        name=name,
        key=key,
        command=f"nats kv add {bucket} --history=1 --ttl=720h --replicas={replicas}",
        config={
            "name": name,
            "subjects": [f"$KV.{bucket}.>"],
            "retention": "limits",
            "storage": "file",
            "discard": "new",
            "max_msgs_per_subject": 1,
            "max_bytes": -1,
            "max_age": 30 * _DAY_S * NANOSECONDS,
            "max_msg_size": -1,
            "num_replicas": replicas,
            "allow_rollup_hdrs": True,
            "allow_direct": True,
            "deny_delete": True,
            "metadata": LAYOUT,
        },
        exact=(),
        least={"max_age": 30 * _DAY_S * NANOSECONDS, "num_replicas": replicas},
        keeps_subjects=lambda found: f"$KV.{bucket}.>" in found,
    )


def _consumer(
    stream: str, name: str, subject: str, *, key: str, ack_wait_s: int, pending: int
) -> ConsumerWish:
    return ConsumerWish(
        stream=stream,
        name=name,
        key=key,
        command=(
            f"nats consumer add {stream} {name} --pull --filter '{subject}' --ack=explicit"
            f" --wait={ack_wait_s}s --max-deliver=-1 --max-pending={pending} --deliver=all"
            " --replay=instant --defaults"
        ),
        config={
            "durable_name": name,
            "filter_subject": subject,
            "ack_policy": "explicit",
            "ack_wait": ack_wait_s * NANOSECONDS,
            "deliver_policy": "all",
            "max_deliver": -1,
            "max_ack_pending": pending,
        },
        exact=("ack_policy", "deliver_policy"),
        tuned=("filter_subject", "ack_wait", "max_deliver"),
        least={"max_ack_pending": pending},
    )
