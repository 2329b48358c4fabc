"""What an agent needs at a broker, compared with what is there, and made or changed without loss.

Decided here: a change that could lose what is stored, or let it be lost later, is never made. It is
told with what would be lost, and an operator does it by hand.
Rules: ``docs/reference/provision.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import msgspec

from fisk_ai.bus.jetstream import NO_CONSUMER, NO_STREAM, JetStream
from fisk_ai.errors import StreamError

LAYOUT: Final = {"fisk-ai-layout": "1"}
"""Metadata of every stream that is made here; another number is another layout."""

_LOSSES: Final = {
    "retention": "messages that the other policy keeps or drops",
    "discard": "what the stream keeps when it is full",
    "discard_new_per_subject": "what a subject keeps when it is full",
    "storage": "everything stored, for a stream cannot be moved",
    "max_msgs_per_subject": "all but the newest messages of a subject",
}
"""Properties that are never changed, with what a change would put at stake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWish:
    """A stream that has to be there.

    ``config`` makes it, as the API spells it. Of one that is there, ``exact`` properties must be as
    in ``config``, and the limits in ``least`` (a number of bytes, nanoseconds or replicas) no
    lower; the rest is the operator's. ``keeps_subjects`` says whether its subjects may stay.
    ``key`` is the configuration's key that needs it, ``command`` the line of the ``nats`` tool.
    """

    name: str
    key: str
    command: str
    config: Mapping[str, object]
    exact: tuple[str, ...]
    least: Mapping[str, float]
    keeps_subjects: Callable[[Sequence[str]], bool]

    @property
    def place(self) -> str:
        """Its name in the API, and for people."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerWish:
    """A durable consumer that has to be there, of a stream that was wished for before it.

    ``config`` makes it. Of one that is there, ``exact`` properties must be as in ``config``: they
    are told as refused and never changed; ``tuned`` ones are changed to it on apply; the rest is
    the operator's.
    """

    stream: str
    name: str
    key: str
    command: str
    config: Mapping[str, object]
    exact: tuple[str, ...]
    tuned: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Its name in the API, and for people."""
        return f"{self.stream}.{self.name}"


Wish = StreamWish | ConsumerWish


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be done about one wish: ``lines`` say it, ``changes`` are made on apply."""

    wish: Wish
    exists: bool
    lines: tuple[str, ...]
    changes: Mapping[str, object] = field(default_factory=dict[str, object])
    refused: bool = False


class _Found(msgspec.Struct):
    config: dict[str, object]


async def look(js: JetStream, wish: Wish) -> Finding:
    """Compare a wish with what is there.

    Raises:
        BusError: the broker cannot be asked.
    """
    found = await _found(js, wish)
    if found is None:
        return Finding(wish, exists=False, lines=("created",), changes=wish.config)
    if isinstance(wish, StreamWish):
        changes, refusals = _raised(wish, found) | _added(wish, found), _losses(wish, found)
    else:
        changes, refusals = _retuned(wish, found), _kept(wish, found)
    lines = [
        f"changed: {name} {_shown(_own(found.get(name)))} -> {_shown(_own(value))}"
        for name, value in changes.items()
    ]
    return Finding(
        wish,
        exists=True,
        lines=(*lines, *refusals) or ("exists",),
        changes=changes,
        refused=bool(refusals),
    )


async def apply(js: JetStream, finding: Finding) -> None:
    """Make what is missing and change what loses nothing.

    Raises:
        BusError: the broker refused, or cannot be asked.
    """
    wish = finding.wish
    if not finding.exists:
        await create(js, wish)
    elif finding.changes:
        changed = {**(await _found(js, wish) or {}), **finding.changes}
        if isinstance(wish, StreamWish):
            await js.api(f"STREAM.UPDATE.{wish.name}", changed, msgspec.Raw)
        else:
            await _put_consumer(js, wish, changed)


async def create(js: JetStream, wish: Wish) -> None:
    """Make what is not there; raises as :func:`apply`."""
    if isinstance(wish, StreamWish):
        await js.api(f"STREAM.CREATE.{wish.name}", wish.config, msgspec.Raw)
    else:
        await _put_consumer(js, wish, wish.config)


async def _put_consumer(js: JetStream, wish: ConsumerWish, config: Mapping[str, object]) -> None:
    asked = {"stream_name": wish.stream, "config": config}
    await js.api(f"CONSUMER.DURABLE.CREATE.{wish.stream}.{wish.name}", asked, msgspec.Raw)


async def _found(js: JetStream, wish: Wish) -> dict[str, object] | None:
    """Return how the object of a wish is configured at the broker, ``None`` where it is not."""
    kind = "STREAM" if isinstance(wish, StreamWish) else "CONSUMER"
    try:
        return (await js.api(f"{kind}.INFO.{wish.place}", {}, _Found)).config
    except StreamError as exc:
        if exc.err_code not in (NO_STREAM, NO_CONSUMER):
            raise
        return None


def _raised(wish: StreamWish, found: Mapping[str, object]) -> dict[str, object]:
    """Return the limits that are too low, as the wish has them."""
    return {
        name: wish.config[name]
        for name, least in wish.least.items()
        if _limit(name, found.get(name)) < least
    }


def _limit(name: str, value: object) -> float:
    number = cast("int", value or 0)
    if name == "num_replicas":
        return number or 1
    return number if number > 0 else math.inf


def _added(wish: StreamWish, found: Mapping[str, object]) -> dict[str, object]:
    """Return subjects and metadata with what is missing of them."""
    added: dict[str, object] = {}
    subjects = cast("list[str]", found.get("subjects") or [])
    wanted = cast("list[str]", wish.config["subjects"])
    if not wish.keeps_subjects(subjects) and not subjects:
        added["subjects"] = wanted
    metadata = cast("dict[str, str]", found.get("metadata") or {})
    if not LAYOUT.items() <= metadata.items():
        added["metadata"] = metadata | LAYOUT
    return added


def _losses(wish: StreamWish, found: Mapping[str, object]) -> list[str]:
    """Say which properties are wrong and stay so."""
    lost = [
        f"refused: {name} is {_shown(found.get(name, False))}, needed {_shown(wish.config[name])}:"
        f" {_LOSSES[name]} would be at stake"
        for name in wish.exact
        if found.get(name, False) != wish.config[name]
    ]
    subjects = cast("list[str]", found.get("subjects") or [])
    if subjects and not wish.keeps_subjects(subjects):
        lost.append(
            f"refused: subjects is {_shown(subjects)}, needed {_shown(wish.config['subjects'])}:"
            " what lies on the others would be at stake"
        )
    return lost


def _retuned(wish: ConsumerWish, found: Mapping[str, object]) -> dict[str, object]:
    """Return the properties of a consumer that are changed to the wish's."""
    return {name: wish.config[name] for name in wish.tuned if found.get(name) != wish.config[name]}


def _kept(wish: ConsumerWish, found: Mapping[str, object]) -> list[str]:
    """Say which properties of a consumer are wrong and stay so: it would have to be made anew."""
    return [
        f"refused: {name} is {_shown(found.get(name))}, needed {_shown(wish.config[name])}:"
        " what it has delivered would be at stake"
        for name in wish.exact
        if found.get(name) != wish.config[name]
    ]


def _own(value: object) -> object:
    """Leave out the metadata of the server."""
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, object]", value)
    return {name: item for name, item in members.items() if not name.startswith("_nats.")} or None


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, cast("list[object]", value)))
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in cast("dict[str, object]", value).items())
    return "not set" if value is None else str(value).lower()
