"""Things chosen by a name in the configuration: each backend registers itself when it is imported.

Every package with backends holds one registry and exposes its ``register``, ``names`` and ``new``,
so that the host names none of them. Rules: ``docs/design.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fisk_ai.errors import ConfigError

C = TypeVar("C")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[C, T]):
    factory: Callable[[C], T]
    check: Callable[[C], object] | None
    needs_broker: bool


class Registry(Generic[C, T]):
    """The backends of one kind of thing; ``what`` names the kind, ``key`` what chooses it."""

    def __init__(self, what: str, *, key: str) -> None:
        """Begin without any."""
        self._what = what
        self._key = key
        self._entries: dict[str, _Entry[C, T]] = {}

    def register(
        self,
        name: str,
        factory: Callable[[C], T],
        *,
        check: Callable[[C], object] | None = None,
        needs_broker: bool = False,
    ) -> None:
        """Add a backend.

        ``check`` refuses the options that ``factory`` would, and neither makes nor opens anything.
        ``needs_broker`` has the host open a connection; it names no backend itself.

        Raises:
            ValueError: an empty or taken name; a mistake of the programmer, found at import.
        """
        if not name:
            raise ValueError(f"a {self._what} needs a name")
        if name in self._entries:
            raise ValueError(f"{self._what} {name!r} is registered twice")
        self._entries[name] = _Entry(factory, check, needs_broker)

    def names(self) -> list[str]:
        """Return the registered backends, sorted."""
        return sorted(self._entries)

    def needs_broker(self, name: str) -> bool:
        """Say whether a backend keeps what it stores at a broker.

        Raises:
            ConfigError: an unknown name.
        """
        return self._known(name).needs_broker

    def check(self, name: str, config: C) -> None:
        """Refuse what can be found wrong with a configuration alone; nothing is made or opened.

        Raises:
            ConfigError: an unknown name, or options the backend says it does not take.
        """
        check = self._known(name).check
        if check is not None:
            check(config)

    def new(self, name: str, config: C) -> T:
        """Build the backend registered as ``name``; whatever can be found wrong is found here.

        Raises:
            ConfigError: an unknown name, or options the backend does not take.
            SetupError: the place it stores in cannot be used.
        """
        return self._known(name).factory(config)

    def _known(self, name: str) -> _Entry[C, T]:
        entry = self._entries.get(name)
        if entry is None:
            known = " ".join(self.names())
            raise ConfigError(
                f'{self._key}: unknown {self._what} "{name}": known backends are [{known}]',
                key=self._key,
            )
        return entry
