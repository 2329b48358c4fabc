"""How often something may be logged, so that a flood of messages is no flood of lines."""

from __future__ import annotations

import time

LINE_INTERVAL_S = 1.0
"""One line for each thing in this time: enough to see a flood, too little to be one."""

KEYS = 1024
"""Things remembered; past it all are forgotten, which costs one extra line for each."""


class Pace:
    """Lets one line through for each key and second and counts what it held back."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._held: dict[str, int] = {}

    def permits(self, key: str) -> int:
        """Return how many events the line to write stands for; zero says to write none."""
        now = time.monotonic()
        last = self._last.get(key)
        if last is not None and now - last < LINE_INTERVAL_S:
            self._held[key] = self._held.get(key, 0) + 1
            return 0
        if len(self._last) >= KEYS:
            self._last.clear()
            self._held.clear()
        self._last[key] = now
        return self._held.pop(key, 0) + 1
