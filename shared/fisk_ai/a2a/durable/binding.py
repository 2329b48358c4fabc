"""Finding the streams of durable turns by their subjects, and refusing what could lose a turn.

Nothing is made here. Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from fisk_ai.a2a import subjects
from fisk_ai.a2a.durable.channels import Channel
from fisk_ai.a2a.durable.provisioning import (
    ACK_WAIT_S,
    MESSAGE_SIZE_BYTES,
    consumer_name,
    reply_place,
)
from fisk_ai.bus.jetstream import NO_CONSUMER, JetStream
from fisk_ai.bus.pulling import NANOSECONDS
from fisk_ai.bus.stream_info import StreamConfig
from fisk_ai.bus.wishes import LAYOUT
from fisk_ai.errors import AbsentError, BusError, SetupError, StreamError

IDENTITY_LIMIT: Final = 64
"""Characters of an identity that has durable turns: it is part of names of consumers."""

_LAYOUT_KEY: Final = "fisk-ai-layout"
_log = logging.getLogger("fisk_ai.a2a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The streams of one channel of one agent; ``lease_s`` is how long a turn is ours unrenewed."""

    js: JetStream
    identity: str
    channel: Channel
    turns: str
    replies: str
    dead: str
    lease_s: float

    @property
    def pull_subject(self) -> str:
        """Where the next turns are asked for."""
        name = consumer_name(self.identity, self.channel.name)
        return self.js.subject(f"CONSUMER.MSG.NEXT.{self.turns}.{name}")


class _ConsumerConfig(msgspec.Struct):
    filter_subject: str = ""
    ack_policy: str = ""
    ack_wait: int = 0
    max_deliver: int = -1


class _Consumer(msgspec.Struct):
    config: _ConsumerConfig


async def bind(js: JetStream, identity: str, channel: Channel, *, key: str) -> Binding:
    """Look at everything that the turns of a channel need; ``key`` is what asked for them.

    Raises:
        AbsentError: something is missing; says what to do.
        SetupError: something is there twice, or could lose a turn; likewise.
    """
    if len(identity) > IDENTITY_LIMIT:
        raise SetupError(
            f"identity has {len(identity)} characters; with durable turns it has at most"
            f" {IDENTITY_LIMIT}: choose a shorter one",
            key="identity",
        )
    if js.connection.max_payload < MESSAGE_SIZE_BYTES:
        raise SetupError(
            f"the server of the turns takes messages of at most {js.connection.max_payload} bytes:"
            f" raise its max_payload to {MESSAGE_SIZE_BYTES} or more",
            key=key,
        )
    bound = _Look(js, key)
    turns = await bound.stream(subjects.turn(identity, channel.name), _turn_faults)
    replies = await bound.stream(reply_place(identity, channel.name), _reply_faults)
    dead = await bound.stream(subjects.dead(identity, channel.name), _dead_faults)
    lease_s = await bound.consumer(turns, identity, channel.name)
    return Binding(
        js=js,
        identity=identity,
        channel=channel,
        turns=turns,
        replies=replies,
        dead=dead,
        lease_s=lease_s,
    )


async def stream_of(js: JetStream, subject: str, *, key: str) -> str:
    """Name the one stream that takes ``subject``.

    Raises:
        AbsentError: there is none.
        SetupError: there are two, or the broker does not say.
    """
    try:
        names = await js.streams_of(subject)
    except BusError as exc:
        raise SetupError(f'the stream of "{subject}" cannot be found: {exc}', key=key) from exc
    if len(names) == 1:
        return names[0]
    found = f"{len(names)} streams take it ({', '.join(names)})" if names else "no stream takes it"
    refused = SetupError if names else AbsentError
    raise refused(
        f'durable turns need one stream for "{subject}", and {found}; see what is needed with:'
        " fisk-ai provision",
        key=key,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    js: JetStream
    key: str

    async def stream(self, subject: str, faults: Callable[[StreamConfig], Iterator[str]]) -> str:
        name = await stream_of(self.js, subject, key=self.key)
        try:
            config = (await self.js.stream(name)).config
        except BusError as exc:
            raise self._unusable(name, str(exc)) from exc
        for fault in (*_common_faults(config), *faults(config)):
            raise self._unusable(name, fault)
        return name

    async def consumer(self, stream: str, identity: str, channel: str) -> float:
        """Return the lease of the consumer, in seconds."""
        name, subject = consumer_name(identity, channel), subjects.turn(identity, channel)
        try:
            found = await self.js.api(f"CONSUMER.INFO.{stream}.{name}", {}, _Consumer)
        except StreamError as exc:
            if exc.err_code != NO_CONSUMER:
                raise self._unusable(stream, str(exc)) from exc
            absent = self._unusable(stream, f"it has no consumer {name}")
            raise AbsentError(str(absent), key=absent.key) from exc
        except BusError as exc:
            raise self._unusable(stream, str(exc)) from exc
        for fault in _consumer_faults(found.config, name, subject):
            raise self._unusable(stream, fault)
        lease_s = found.config.ack_wait / NANOSECONDS
        if lease_s != ACK_WAIT_S:
            _log.warning(
                "the consumer %s gives a turn up after %g s, not %d", name, lease_s, ACK_WAIT_S
            )
        return lease_s

    def _unusable(self, stream: str, fault: str) -> SetupError:
        return SetupError(
            f'the stream "{stream}" of durable turns cannot be used: {fault}; see what is needed'
            " with: fisk-ai provision",
            key=self.key,
        )


def _common_faults(config: StreamConfig) -> Iterator[str]:
    layout = config.metadata.get(_LAYOUT_KEY, "")
    if layout and layout != LAYOUT[_LAYOUT_KEY]:
        yield f"it is of layout {layout[:20]}, and this release knows {LAYOUT[_LAYOUT_KEY]}"
    if 0 < config.max_msg_size < MESSAGE_SIZE_BYTES:
        yield (
            f"it takes messages of at most {config.max_msg_size} bytes, fewer than"
            f" {MESSAGE_SIZE_BYTES}"
        )


def _turn_faults(config: StreamConfig) -> Iterator[str]:
    yield from _differs("retention", config.retention, "workqueue")
    yield from _differs("discard", config.discard, "new")
    if config.max_msgs_per_subject > 0 and not config.discard_new_per_subject:
        yield "a full queue would drop its oldest turns (discard_new_per_subject is false)"
    if config.max_age:
        yield f"its turns expire after {config.max_age // NANOSECONDS} s (max_age)"


def _reply_faults(config: StreamConfig) -> Iterator[str]:
    yield from _differs("retention", config.retention, "limits")
    yield from _differs("discard", config.discard, "old")
    if config.max_bytes <= 0:
        yield "it has no max_bytes, so that replies could fill the store and stop the journals"


def _dead_faults(config: StreamConfig) -> Iterator[str]:
    yield from _differs("retention", config.retention, "limits")
    yield from _differs("discard", config.discard, "new")
    if config.max_age:
        yield f"its letters expire after {config.max_age // NANOSECONDS} s (max_age)"


def _consumer_faults(config: _ConsumerConfig, name: str, subject: str) -> Iterator[str]:
    if config.ack_policy != "explicit":
        yield f"its consumer {name} acknowledges turns before they are done (ack_policy)"
    if config.max_deliver > 0:
        yield f"its consumer {name} drops a turn after {config.max_deliver} deliveries"
    if config.filter_subject != subject:
        yield f'its consumer {name} is not for "{subject}" alone (filter_subject)'
    if config.ack_wait <= 0:
        yield f"its consumer {name} has no ack_wait"


def _differs(name: str, found: str, wanted: str) -> Iterator[str]:
    if found != wanted:
        yield f"its {name} is {found} and must be {wanted}, or a turn could be lost"
