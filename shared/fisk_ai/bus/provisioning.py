"""What is wished for at a broker: compared with what is there, and made or changed without loss.

What services find by a subject is found here by it, too: a stream that its operator renamed is the
one wished for, and another one that holds the same subjects is in the way.
Rules: ``docs/reference/provision.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from fisk_ai.bus import comparison
from fisk_ai.bus.jetstream import NO_CONSUMER, NO_STREAM, JetStream
from fisk_ai.bus.wishes import LAYOUT, ConsumerWish, StreamWish, Wish
from fisk_ai.errors import StreamError

__all__ = [
    "LAYOUT",
    "ConsumerWish",
    "Finding",
    "StreamWish",
    "Wish",
    "apply",
    "create",
    "look",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be done about one wish: ``lines`` say it, ``changes`` are made on apply.

    ``wish`` names the object as it is called at the broker.
    """

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
    if isinstance(wish, StreamWish) and wish.found_by:
        holders = await js.streams_of(wish.found_by)
        if holders != [wish.name] and holders:
            return await _found_elsewhere(js, wish, holders)
    found = await _found(js, wish)
    if found is None:
        return Finding(wish, exists=False, lines=("created",), changes=wish.config)
    return _compared(wish, found)


async def apply(js: JetStream, finding: Finding) -> None:
    """Make what is missing and change what loses nothing.

    Raises:
        BusError: the broker refused, or cannot be asked.
    """
    wish = finding.wish
    if not finding.exists:
        await create(js, wish)
    elif finding.changes:
        changed = comparison.with_changes(await _found(js, wish) or {}, finding.changes)
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


async def _found_elsewhere(js: JetStream, wish: StreamWish, holders: Sequence[str]) -> Finding:
    """Judge streams of other names that hold the subject of a wish."""
    if len(holders) == 1:
        renamed = wish.called(holders[0])
        found = await _found(js, renamed)
        if found is not None and wish.keeps_subjects(comparison.subjects_of(found)):
            return _compared(renamed, found)
    others = ", ".join(name for name in holders if name != wish.name)
    line = (
        f"refused: {wish.found_by} is held by {others} already, and a subject has one stream:"
        " keep to that set, or empty and remove it first"
    )
    return Finding(wish, exists=True, lines=(line,), refused=True)


def _compared(wish: Wish, found: Mapping[str, object]) -> Finding:
    changes, refusals = comparison.changes(wish, found), comparison.refusals(wish, found)
    changed = [
        f"changed: {name} {comparison.shown(found.get(name))} -> {comparison.shown(value)}"
        for name, value in changes.items()
    ]
    return Finding(
        wish,
        exists=True,
        lines=(*changed, *refusals) or ("exists",),
        changes=changes,
        refused=bool(refusals),
    )


async def _found(js: JetStream, wish: Wish) -> dict[str, object] | None:
    """Return how the object of a wish is configured at the broker, ``None`` where it is not."""
    kind = "STREAM" if isinstance(wish, StreamWish) else "CONSUMER"
    try:
        return (await js.api(f"{kind}.INFO.{wish.place}", {}, _Found)).config
    except StreamError as exc:
        if exc.err_code not in (NO_STREAM, NO_CONSUMER):
            raise
        return None
