"""What is there, against what is wished for: which changes lose nothing, and what is refused.

Decided here: a change that could lose what is stored, or let it be lost later, is never made. It is
told with what would be lost, and an operator does it by hand.
Rules: ``docs/reference/provision.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, cast

from fisk_ai.bus.wishes import LAYOUT, ConsumerWish, StreamWish, Wish

Properties = Mapping[str, object]
"""How a stream or consumer is configured, as the API spells it."""

_LOSSES: Final = {
    "retention": "messages that the other policy keeps or drops",
    "discard": "what the stream keeps when it is full",
    "discard_new_per_subject": "what a subject keeps when it is full",
    "storage": "everything stored, for a stream cannot be moved",
    "max_msgs_per_subject": "all but the newest messages of a subject",
}
"""Properties that are never changed, with what a change would put at stake."""


def changes(wish: Wish, found: Properties) -> dict[str, object]:
    """Return the properties to set, which lose nothing."""
    raised = {
        name: wish.config[name]
        for name, least in wish.least.items()
        if _limit(name, found.get(name)) < least
    }
    if isinstance(wish, ConsumerWish):
        return raised | _tuned(wish, found)
    return raised | _added(wish, found)


def refusals(wish: Wish, found: Properties) -> list[str]:
    """Say which properties are wrong and stay so, with what a change would put at stake."""
    if isinstance(wish, ConsumerWish):
        names = (*wish.exact, "deliver_subject")  # set where it is pushed to, not asked
        return [
            _refused(name, found.get(name), wish.config.get(name), "what it has delivered")
            for name in names
            if found.get(name) != wish.config.get(name)
        ]
    wrong = [name for name in wish.exact if found.get(name, False) != wish.config[name]]
    unlimited = [name for name in wish.bounded if _limit(name, found.get(name)) == math.inf]
    return [
        *(
            _refused(
                name, found.get(name, False), wish.config[name], _LOSSES.get(name, "what is stored")
            )
            for name in wrong
        ),
        *(
            _refused(name, found.get(name), wish.config[name], "the oldest of what is stored")
            for name in unlimited
        ),
        *_foreign_subjects(wish, found),
    ]


def with_changes(found: Properties, changed: Properties) -> dict[str, object]:
    """Return the whole of what an object is changed to."""
    whole = {**found, **changed}
    if "filter_subject" in changed:
        whole.pop("filter_subjects", None)  # the API takes one of the two
    return whole


def subjects_of(found: Properties) -> list[str]:
    """Return what a stream that is there takes."""
    return cast("list[str]", found.get("subjects") or [])


def shown(value: object) -> str:
    """Return a property for people, without the metadata of the server."""
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        own = {key: item for key, item in members.items() if not key.startswith("_nats.")}
        value = ",".join(f"{key}={item}" for key, item in own.items()) or None
    if isinstance(value, list):
        value = ",".join(map(str, cast("list[object]", value))) or None
    if value is None:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refused(name: str, found: object, needed: object, stake: str) -> str:
    return f"refused: {name} is {shown(found)}, needed {shown(needed)}: {stake} would be at stake"


def _limit(name: str, value: object) -> float:
    number = cast("int", value or 0)
    if name == "num_replicas":
        return number or 1
    return number if number > 0 else math.inf


def _tuned(wish: ConsumerWish, found: Properties) -> dict[str, object]:
    wrong = {name: wish.config[name] for name in wish.tuned if found.get(name) != wish.config[name]}
    if found.get("filter_subjects") and "filter_subject" in wish.config:
        wrong["filter_subject"] = wish.config["filter_subject"]
    return wrong


def _added(wish: StreamWish, found: Properties) -> dict[str, object]:
    """Return subjects and metadata with what is missing of them."""
    added: dict[str, object] = {}
    subjects, more = subjects_of(found), _completed(wish, found)
    if not wish.keeps_subjects(subjects) and wish.keeps_subjects(more):
        added["subjects"] = more
    metadata = cast("dict[str, str]", found.get("metadata") or {})
    if not LAYOUT.items() <= metadata.items():
        added["metadata"] = metadata | LAYOUT
    return added


def _foreign_subjects(wish: StreamWish, found: Properties) -> list[str]:
    if wish.keeps_subjects(_completed(wish, found)) or wish.keeps_subjects(subjects_of(found)):
        return []
    return [
        _refused("subjects", subjects_of(found), wish.config["subjects"], "what lies on the others")
    ]


def _completed(wish: StreamWish, found: Properties) -> list[str]:
    subjects = subjects_of(found)
    wanted = cast("list[str]", wish.config["subjects"])
    return [*subjects, *(subject for subject in wanted if subject not in subjects)]
