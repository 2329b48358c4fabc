"""What durable turns need at a broker, for whoever makes it; services only bind it.

Streams are shared by identities, since each of them is a group of its own in a cluster.
Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fisk_ai.a2a import subjects
from fisk_ai.bus.bucket import STREAM_PREFIX
from fisk_ai.bus.provisioning import LAYOUT, ConsumerWish, StreamWish, Wish
from fisk_ai.bus.pulling import NANOSECONDS

TURNS: Final = "FISK_AI_TURN"
REPLIES: Final = "FISK_AI_REPLY"
DEAD: Final = "FISK_AI_DEAD"
GATEWAY: Final = "FISK_AI_GATEWAY"
"""What the streams and the bucket are called where nobody renamed them; services go by subject."""

MESSAGE_SIZE_BYTES: Final = 1_048_576
ACK_WAIT_S: Final = 60
"""The lease of a turn: it outlasts a failover and two renewals that were lost."""

QUEUE_LIMIT: Final = 1_000
REPLIES_LIMIT: Final = 5_000
"""Messages of one subject."""

REPLY_BYTES: Final = 2 * 1024**3
DEAD_BYTES: Final = 256 * 1024**2

_HOUR_S: Final = 3_600
_DAY_S: Final = 24 * _HOUR_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Wished:
    """For whom, and how: ``isolated`` gives ``identity`` a set of streams of its own."""

    identity: str
    key: str
    replicas: int
    isolated: bool = False

    def named(self, name: str) -> str:
        """Return what an object is called."""
        return f"{name}_{self.identity}" if self.isolated else name


def wishes(wished: Wished, channels: Sequence[str]) -> Iterator[Wish]:
    """Yield the streams, the bucket and the consumers that the turns of ``channels`` need."""
    yield _stream(wished, TURNS, _turn_subjects(wished), _TURN_SHAPE, _TURN_FLAGS)
    yield _stream(
        wished, REPLIES, _below(wished, "reply", wide=">"), _REPLY_SHAPE, _REPLY_FLAGS, bounded=True
    )
    yield _stream(
        wished, DEAD, _below(wished, "dead", wide=">"), _DEAD_SHAPE, _DEAD_FLAGS, bounded=True
    )
    yield _bucket(wished)
    for channel in channels:
        yield _consumer(
            wished,
            TURNS,
            channel,
            subjects.turn(wished.identity, channel),
            ack_wait_s=ACK_WAIT_S,
            pending=1_000,
        )
        yield _consumer(
            wished,
            REPLIES,
            channel,
            subjects.replies_of_channel(wished.identity, channel),
            ack_wait_s=30,
            pending=64,
        )


_TURN_SHAPE: Final[Mapping[str, object]] = {
    "retention": "workqueue",
    "discard": "new",
    "discard_new_per_subject": True,
    "max_msgs_per_subject": QUEUE_LIMIT,
    "max_age": 0,
    "duplicate_window": _HOUR_S * NANOSECONDS,
}
_TURN_FLAGS: Final = (
    f"--retention work --discard new --discard-per-subject --max-msgs-per-subject={QUEUE_LIMIT}"
    " --dupe-window=1h"
)
_REPLY_SHAPE: Final[Mapping[str, object]] = {
    "retention": "limits",
    "discard": "old",
    "max_msgs_per_subject": REPLIES_LIMIT,
    "max_age": _DAY_S * NANOSECONDS,
    "max_bytes": REPLY_BYTES,
    "duplicate_window": 600 * NANOSECONDS,
}
_REPLY_FLAGS: Final = (
    f"--retention limits --discard old --max-age=24h --max-bytes={REPLY_BYTES}"
    f" --max-msgs-per-subject={REPLIES_LIMIT} --dupe-window=10m"
)
_DEAD_SHAPE: Final[Mapping[str, object]] = {
    "retention": "limits",
    "discard": "new",
    "max_age": 0,
    "max_bytes": DEAD_BYTES,
    "duplicate_window": _HOUR_S * NANOSECONDS,
}
_DEAD_FLAGS: Final = f"--retention limits --discard new --max-bytes={DEAD_BYTES} --dupe-window=1h"


def _turn_subjects(wished: Wished) -> str:
    return _below(wished, "turn", wide="*.*")


def _below(wished: Wished, kind: str, *, wide: str) -> str:
    narrow = ".".join((wished.identity, wide.rpartition(".")[2]))
    return f"choria.fisk-ai.{kind}.{narrow if wished.isolated else wide}"


def _stream(
    wished: Wished,
    name: str,
    subject: str,
    shape: Mapping[str, object],
    flags: str,
    *,
    bounded: bool = False,
) -> StreamWish:
    full = wished.named(name)
    never = float("inf")
    limits = {"max_age": shape["max_age"] or never, "max_msgs": never}
    return StreamWish(
        name=full,
        key=wished.key,
        command=(
            f"nats stream add {full} --subjects '{subject}' --storage file {flags}"
            f" --metadata fisk-ai-layout=1 --replicas={wished.replicas} --defaults"
        ),
        config={
            "name": full,
            "subjects": [subject],
            "storage": "file",
            "max_msgs": -1,
            "max_msg_size": -1,
            "max_bytes": -1,
            **shape,
            "num_replicas": wished.replicas,
            "metadata": LAYOUT,
        },
        exact=(
            "retention",
            "storage",
            "discard",
            *(("discard_new_per_subject",) if "discard_new_per_subject" in shape else ()),
        ),
        least={
            **{name: float(str(value)) for name, value in limits.items()},
            "max_msgs_per_subject": float(str(shape.get("max_msgs_per_subject", never))),
            "max_msg_size": MESSAGE_SIZE_BYTES,
            "num_replicas": wished.replicas,
        },
        keeps_subjects=lambda found: subject in found,
        bounded=("max_bytes",) if bounded else (),
    )


def _bucket(wished: Wished) -> StreamWish:
    bucket = wished.named(GATEWAY)
    name = f"{STREAM_PREFIX}{bucket}"
    return StreamWish(
        name=name,
        key=wished.key,
        command=f"nats kv add {bucket} --history=1 --ttl=720h --replicas={wished.replicas}",
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
            "num_replicas": wished.replicas,
            "allow_rollup_hdrs": True,
            "allow_direct": True,
            "deny_delete": True,
            "metadata": LAYOUT,
        },
        exact=(),
        least={"max_age": 30 * _DAY_S * NANOSECONDS, "num_replicas": wished.replicas},
        keeps_subjects=lambda found: f"$KV.{bucket}.>" in found,
    )


def consumer_name(identity: str, channel: str) -> str:
    """Return what the consumers of a channel are called, on the turn and on the reply stream."""
    return f"{identity}_{channel}"


def _consumer(
    wished: Wished, stream: str, channel: str, subject: str, *, ack_wait_s: int, pending: int
) -> ConsumerWish:
    name, full = consumer_name(wished.identity, channel), wished.named(stream)
    return ConsumerWish(
        stream=full,
        name=name,
        key=wished.key,
        command=(
            f"nats consumer add {full} {name} --pull --filter '{subject}' --ack explicit"
            f" --wait {ack_wait_s}s --max-deliver=-1 --max-pending={pending} --deliver all"
            f" --replay instant --defaults"
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
        tuned=("filter_subject", "ack_wait", "max_deliver", "max_ack_pending"),
    )
