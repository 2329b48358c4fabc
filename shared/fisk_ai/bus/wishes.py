"""What an agent needs at a broker, as values: streams, buckets and consumers that have to be there.

Whoever keeps something says here what it must be like; what is done about it is decided in
:mod:`fisk_ai.bus.provisioning`. Rules: ``docs/reference/provision.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

LAYOUT: Final = {"fisk-ai-layout": "1"}
"""Metadata of every stream that is made here; another number is another layout."""

LAYOUT_FLAG: Final = "--metadata=fisk-ai-layout=1"
"""The same for a command of the ``nats`` tool."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Whose storage is meant: everybody's, or that of one ``identity`` alone."""

    identity: str = ""

    def name(self, shared: str) -> str:
        """Return what a stream or bucket is called that is ``shared`` where nobody is apart."""
        return f"{shared}_{self.identity}" if self.identity else shared

    @property
    def token(self) -> str:
        """The token of a subject that says whose it is: the identity, or any."""
        return self.identity or "*"

    def below(self, root: str) -> str:
        """Return all subjects under ``root``, whose next token is an identity."""
        return f"{root}.{self.identity}.>" if self.identity else f"{root}.>"


SHARED: Final = Isolation()
"""One set of storage for all identities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWish:
    """A stream that has to be there.

    ``config`` makes it, as the API spells it. Of one that is there, ``exact`` properties must be as
    in ``config``, the limits in ``least`` (a number of bytes, nanoseconds or replicas) no
    lower, and ``bounded`` ones limited at all; the rest is the operator's. ``keeps_subjects`` says
    whether its subjects may stay. ``key`` is the configuration's key that needs it, ``command`` the
    line of the ``nats`` tool. A stream that services find by a subject, whatever it is called, says
    by which in ``found_by``.
    """

    name: str
    key: str
    command: str
    config: Mapping[str, object]
    exact: tuple[str, ...]
    least: Mapping[str, float]
    keeps_subjects: Callable[[Sequence[str]], bool]
    bounded: tuple[str, ...] = ()
    found_by: str = ""

    @property
    def place(self) -> str:
        """Its name in the API, and for people."""
        return self.name

    def called(self, name: str) -> Self:
        """Return the same wish for a stream of another name."""
        return replace(self, name=name, config={**self.config, "name": name})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerWish:
    """A durable consumer that has to be there, of a stream that was wished for before it.

    ``config`` makes it. Of one that is there, ``exact`` properties must be as in ``config``: they
    are told as refused and never changed; ``tuned`` ones are changed to it on apply, limits in
    ``least`` only where they are lower; the rest is the operator's.
    """

    stream: str
    name: str
    key: str
    command: str
    config: Mapping[str, object]
    exact: tuple[str, ...]
    tuned: tuple[str, ...] = ()
    least: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def place(self) -> str:
        """Its name in the API, and for people."""
        return f"{self.stream}.{self.name}"

    def on(self, stream: str) -> Self:
        """Return the same wish for a stream of another name."""
        return replace(self, stream=stream)


Wish = StreamWish | ConsumerWish
