"""What the tags of a command mean: a closed set under ``ai:``, and free words beside it.

Control tags decide; behaviour tags only describe, since what is constrained must not write its
own constraint. Contradictions take the dangerous reading. What keeps a command from running counts
for all of a group; a tag that only looks reserved counts for nothing, and is never passed over in
silence. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from fisk_ai.text import sanitise, words
from fisk_ai.toolkit.behavior import Behavior

PREFIX = "ai:"
DENY = "ai:deny"
NO_DEFER = "ai:no_defer"
CONFIRM = "ai:confirm"
READ_ONLY = "ai:read_only"
DESTRUCTIVE = "ai:destructive"
ADDITIVE = "ai:additive"
IDEMPOTENT = "ai:idempotent"

RESERVED = frozenset({DENY, NO_DEFER, CONFIRM, READ_ONLY, DESTRUCTIVE, ADDITIVE, IDEMPOTENT})

INHERITED = (DENY, CONFIRM)
"""Tags of a group that hold for every command below it: who tags a group means its commands."""


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
    """Return the tags that mean nothing and should, each once, in author order and quoted.

    They are those under ``ai:`` nobody knows, and those that differ from a reserved tag only in
    case, white space, escapes, invisible characters or width.
    """
    return tuple(dict.fromkeys(words.shown(tag) for tag in tags if _is_unknown(tag)))


def idle_on_group(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a group that have no effect there although they look reserved."""
    idle = (tag for tag in tags if tag in RESERVED and tag not in INHERITED)
    return tuple(dict.fromkeys((*idle, *unknown_reserved(tags))))


def with_inherited(own: Sequence[str], above: Sequence[str]) -> tuple[str, ...]:
    """Return a command's own tags and, behind them, those its group lays on it."""
    if not above:
        return tuple(own)
    return (*own, *(tag for tag in INHERITED if tag in above and tag not in own))


def _is_unknown(tag: str) -> bool:
    if tag in RESERVED:
        return False
    return tag.startswith(PREFIX) or _as_read(tag) in RESERVED


def _as_read(tag: str) -> str:
    """Return what a reader takes ``tag`` for."""
    if tag.isascii() and tag.isprintable():  # nearly every tag of nearly every application
        return "".join(tag.lower().split())
    seen = words.visible(sanitise.for_terminal(tag, len(tag)))
    return "".join(unicodedata.normalize("NFKC", seen).lower().split())


def confirm_trigger(tags: Sequence[str], extra_tags: Sequence[str]) -> str:
    """Return the tag that asks for a person: ``ai:confirm``, else the first one listed."""
    if CONFIRM in tags:
        return CONFIRM
    return next((tag for tag in tags if tag in extra_tags), "")
