"""The bucket that memories need, for whoever makes it; services only bind it.

Rules: ``docs/reference/memory.md``.
"""

from __future__ import annotations

import math

from fisk_ai.bus.bucket import STREAM_PREFIX
from fisk_ai.bus.wishes import LAYOUT, LAYOUT_FLAG, StreamWish
from fisk_ai.memory.bucket_option import BUCKET_KEY, creation
from fisk_ai.memory.limits import VALUE_LIMIT_BYTES


def bucket_wish(bucket: str, *, replicas: int) -> StreamWish:
    """Return the bucket called ``bucket``, as the clients of NATS make one."""
    name = f"{STREAM_PREFIX}{bucket}"
    return StreamWish(
        name=name,
        key=BUCKET_KEY,
        command=f"{creation(bucket)} {LAYOUT_FLAG} --replicas={replicas}",
        config={
            "name": name,
            "subjects": [f"$KV.{bucket}.>"],
            "retention": "limits",
            "storage": "file",
            "discard": "new",
            "max_msgs_per_subject": 1,
            "max_bytes": -1,
            "max_age": 0,
            "max_msg_size": VALUE_LIMIT_BYTES,
            "num_replicas": replicas,
            "allow_rollup_hdrs": True,
            "allow_direct": True,
            "deny_delete": True,
            "metadata": LAYOUT,
        },
        exact=(),
        least={
            "max_age": math.inf,
            "max_msg_size": VALUE_LIMIT_BYTES,
            "num_replicas": replicas,
        },
        keeps_subjects=lambda subjects: f"$KV.{bucket}.>" in subjects,
    )
