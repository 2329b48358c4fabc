"""The stream that sessions need, for whoever makes it; services only bind it.

Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import math

from fisk_ai.bus.wishes import LAYOUT, LAYOUT_FLAG, StreamWish
from fisk_ai.sessions.stream_option import OPTION_KEY, creation, subjects_of
from fisk_ai.sessions.stream_place import MESSAGE_SIZE_BYTES, keeps_sessions


def stream_wish(stream: str, *, replicas: int) -> StreamWish:
    """Return the stream called ``stream``; one that is there keeps its own subject."""
    return StreamWish(
        name=stream,
        key=OPTION_KEY,
        command=f"{creation(stream)} {LAYOUT_FLAG} --replicas={replicas} --defaults",
        config={
            "name": stream,
            "subjects": [subjects_of(stream)],
            "retention": "limits",
            "storage": "file",
            "discard": "new",
            "discard_new_per_subject": True,
            "max_msgs_per_subject": 1,
            "max_msgs": -1,
            "max_bytes": -1,
            "max_age": 0,
            "max_msg_size": -1,
            "num_replicas": replicas,
            "metadata": LAYOUT,
        },
        exact=(
            "retention",
            "storage",
            "discard",
            "discard_new_per_subject",
            "max_msgs_per_subject",
        ),
        least={
            "max_age": math.inf,
            "max_bytes": math.inf,
            "max_msgs": math.inf,
            "max_msg_size": MESSAGE_SIZE_BYTES,
            "num_replicas": replicas,
        },
        keeps_subjects=keeps_sessions,
    )
