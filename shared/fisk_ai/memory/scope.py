"""One run's authority over memories: which revision of each key it has seen.

It lives on the run's context, so one store serves many runs at once. Without a scope nothing is
remembered and nothing is authorised.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[Scope | None] = ContextVar("memory_scope", default=None)


class Scope:
    """The revisions one run knows; used from that run's task alone."""

    def __init__(self) -> None:
        """Know nothing."""
        self._revisions: dict[str, int] = {}

    def revision(self, key: str) -> int | None:
        """Return the revision this run has seen of ``key``."""
        return self._revisions.get(key)

    def saw(self, key: str, revision: int) -> None:
        """Note that this run read or wrote ``revision``."""
        self._revisions[key] = revision

    def forget(self, key: str) -> None:
        """Take the authority over ``key`` back."""
        self._revisions.pop(key, None)

    def seed(self, revisions: Mapping[str, int]) -> None:
        """Take over what an earlier run of the session knew; what is known already stays."""
        for key, revision in revisions.items():
            self._revisions.setdefault(key, revision)

    def snapshot(self) -> dict[str, int]:
        """Return a copy of everything known."""
        return dict(self._revisions)


def current() -> Scope | None:
    """Return the scope of the run this code belongs to."""
    return _current.get()


@contextmanager
def attached() -> Generator[Scope]:
    """Give the code inside a scope of its own."""
    scope = Scope()
    token = _current.set(scope)
    try:
        yield scope
    finally:
        _current.reset(token)
