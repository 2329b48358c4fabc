"""What a stream is like and what it holds, as far as this project asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec


class StreamConfig(msgspec.Struct, frozen=True):
    """The properties that we require of a stream; durations in nanoseconds, as on the wire.

    A limit of -1 is none; ``max_age`` and ``duplicate_window`` of 0 are none as well.
    """

    name: str
    subjects: tuple[str, ...] = ()
    retention: str = "limits"
    storage: str = "file"
    discard: str = "old"
    discard_new_per_subject: bool = False
    max_msgs: int = -1
    max_msgs_per_subject: int = -1
    max_bytes: int = -1
    max_age: int = 0
    max_msg_size: int = -1
    max_consumers: int = -1
    num_replicas: int = 1
    duplicate_window: int = 0
    allow_direct: bool = False
    allow_msg_ttl: bool = False
    deny_delete: bool = False
    deny_purge: bool = False
    metadata: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A stream now; ``subjects`` counts messages of what was asked for, ``total`` of it exist."""

    config: StreamConfig
    messages: int
    last_seq: int
    subjects: Mapping[str, int]
    total: int


class _State(msgspec.Struct):
    messages: int = 0
    last_seq: int = 0
    subjects: dict[str, int] | None = None


class StreamReply(msgspec.Struct):
    """How the API describes a stream."""

    config: StreamConfig
    state: _State
    total: int = 0

    def info(self) -> StreamInfo:
        """Return it as ours."""
        state = self.state
        return StreamInfo(
            self.config, state.messages, state.last_seq, state.subjects or {}, self.total
        )
