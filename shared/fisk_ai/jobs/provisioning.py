"""The streams, consumer and buckets that a queue needs, for whoever makes them; workers bind.

Names and shapes are those of the asyncjobs engine, whose own tools work on the same storage.
Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from fisk_ai.bus.bucket import STREAM_PREFIX
from fisk_ai.bus.pulling import NANOSECONDS
from fisk_ai.bus.wishes import LAYOUT, LAYOUT_FLAG, ConsumerWish, StreamWish, Wish
from fisk_ai.jobs import names

KEY: Final = "expose.agent.jobs"

RETENTION_S: Final = 72 * 3600
"""How long the record of a job is kept after it was written last."""

RUN_TIME_S: Final = 60
"""The lease of an item, renewed while its job runs: the time in which a dead worker is noticed."""

TRIES: Final = 10
"""Deliveries of an item: each drain and each death of a worker is one, or two."""

CONCURRENT: Final = 10
"""Items of a queue at work at once, in the whole fleet."""

_ELECTION_S: Final = 10


def wishes(queue: str, *, replicas: int) -> Iterator[Wish]:
    """Yield what ``queue`` needs, in the order in which it is made."""
    yield _jobs(replicas)
    yield _queue(queue, replicas)
    yield _consumer(queue)
    yield _bucket(names.CONFIGURATION_BUCKET, "Choria Async Jobs Configuration", 0, replicas)
    yield _bucket(
        names.ELECTIONS_BUCKET, "Choria Async Jobs Leader Elections", _ELECTION_S, replicas
    )


def _jobs(replicas: int) -> StreamWish:
    name = names.JOBS_STREAM
    return StreamWish(
        name=name,
        key=KEY,
        command=(
            f"nats stream add {name} --description 'Choria Async Jobs Tasks'"
            f" --subjects '{names.JOB_SUBJECTS}' --storage file --retention limits"
            f" --max-msgs-per-subject 1 --max-age {RETENTION_S // 3600}h --replicas {replicas}"
            f" --discard old {LAYOUT_FLAG} --defaults"
        ),
        config={
            **_STREAM,
            "name": name,
            "description": "Choria Async Jobs Tasks",
            "subjects": [names.JOB_SUBJECTS],
            "retention": "limits",
            "discard": "old",
            "max_age": RETENTION_S * NANOSECONDS,
            "num_replicas": replicas,
        },
        exact=("retention", "max_msgs_per_subject"),
        least={"num_replicas": replicas},
        keeps_subjects=lambda subjects: names.JOB_SUBJECTS in subjects,
    )


def _queue(queue: str, replicas: int) -> StreamWish:
    name, subjects = names.queue_stream(queue), names.queue_subjects(queue)
    return StreamWish(
        name=name,
        key=KEY,
        command=(
            f"nats stream add {name} --description 'Choria Async Jobs Work Queue'"
            f" --subjects '{subjects}' --storage file --retention work --max-msgs-per-subject 1"
            f" --discard new --replicas {replicas} {LAYOUT_FLAG} --defaults"
        ),
        config={
            **_STREAM,
            "name": name,
            "description": "Choria Async Jobs Work Queue",
            "subjects": [subjects],
            "retention": "workqueue",
            "discard": "new",
            "max_age": 0,
            "num_replicas": replicas,
        },
        exact=("retention", "max_msgs_per_subject"),
        least={"num_replicas": replicas},
        keeps_subjects=lambda found: subjects in found,
    )


def _consumer(queue: str) -> ConsumerWish:
    stream = names.queue_stream(queue)
    return ConsumerWish(
        stream=stream,
        name=names.CONSUMER,
        key=KEY,
        command=(
            f"nats consumer add {stream} {names.CONSUMER} --pull --ack explicit"
            f" --wait {RUN_TIME_S}s --max-pending {CONCURRENT} --max-deliver {TRIES} --deliver all"
            " --replay instant --defaults"
        ),
        config={
            "durable_name": names.CONSUMER,
            "ack_policy": "explicit",
            "ack_wait": RUN_TIME_S * NANOSECONDS,
            "max_ack_pending": CONCURRENT,
            "max_deliver": TRIES,
            "deliver_policy": "all",
            "replay_policy": "instant",
        },
        exact=("ack_policy",),
    )


def _bucket(bucket: str, description: str, ttl_s: int, replicas: int) -> StreamWish:
    name = f"{STREAM_PREFIX}{bucket}"
    lives = f" --ttl {ttl_s}s" if ttl_s else ""
    config: dict[str, object] = {
        **_STREAM,
        "name": name,
        "description": description,
        "subjects": [f"$KV.{bucket}.>"],
        "retention": "limits",
        "discard": "new",
        "max_age": ttl_s * NANOSECONDS,
        "num_replicas": replicas,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
        "deny_delete": True,
    }
    if ttl_s:
        config["duplicate_window"] = ttl_s * NANOSECONDS
    return StreamWish(
        name=name,
        key=KEY,
        command=f"nats kv add {bucket}{lives} {LAYOUT_FLAG} --replicas {replicas}",
        config=config,
        exact=(),
        least={"num_replicas": replicas} if ttl_s else _FOR_EVER | {"num_replicas": replicas},
        keeps_subjects=lambda subjects: f"$KV.{bucket}.>" in subjects,
    )


_FOR_EVER: Final = {"max_age": math.inf}

_STREAM: Final = {
    "storage": "file",
    "max_msgs_per_subject": 1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_msg_size": -1,
    "metadata": LAYOUT,
}
"""What all of them have in common."""
