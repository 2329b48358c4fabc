"""What the tags of a command mean: a closed set under ``ai:``, and free words beside it.

Control tags decide; behaviour tags only describe, since what is constrained must not write its
own constraint. Contradictions take the dangerous reading. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.toolkit.contract import Behavior

PREFIX = "ai:"
DENY = "ai:deny"
NO_DEFER = "ai:no_defer"
CONFIRM = "ai:confirm"
READ_ONLY = "ai:read_only"
DESTRUCTIVE = "ai:destructive"
ADDITIVE = "ai:additive"
IDEMPOTENT = "ai:idempotent"

RESERVED = frozenset({DENY, NO_DEFER, CONFIRM, READ_ONLY, DESTRUCTIVE, ADDITIVE, IDEMPOTENT})


def behavior_of(tags: Sequence[str]) -> Behavior:
    """Return what the tags say of a tool's effects, whatever their order."""
    destructive = True if DESTRUCTIVE in tags else False if ADDITIVE in tags else None
    read_only = False if destructive is not None else True if READ_ONLY in tags else None
    return Behavior(
        read_only=read_only,
        destructive=destructive,
        idempotent=True if IDEMPOTENT in tags else None,
    )


def conflicts_of(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the pairs of tags that contradict one another, one pair after the other."""
    found: tuple[str, ...] = ()
    if READ_ONLY in tags and DESTRUCTIVE in tags:
        found += (READ_ONLY, DESTRUCTIVE)
    elif READ_ONLY in tags and ADDITIVE in tags:
        found += (READ_ONLY, ADDITIVE)
    if DESTRUCTIVE in tags and ADDITIVE in tags:
        found += (DESTRUCTIVE, ADDITIVE)
    return found


def unknown_reserved(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags under ``ai:`` that mean nothing, each once, in author order."""
    unknown = (tag for tag in tags if tag.startswith(PREFIX) and tag not in RESERVED)
    return tuple(dict.fromkeys(unknown))


def confirm_trigger(tags: Sequence[str], extra_tags: Sequence[str]) -> str:
    """Return the tag that asks for a person: ``ai:confirm``, else the first one listed."""
    if CONFIRM in tags:
        return CONFIRM
    return next((tag for tag in tags if tag in extra_tags), "")
