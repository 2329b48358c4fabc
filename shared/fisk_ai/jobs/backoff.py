"""How long a failed job waits for its next try.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

UNKNOWN_DELIVERY: Final = 20
"""The delivery that is taken for one whose number cannot be read."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Intervals in even steps from ``least_s`` on; ``most_s`` itself is never reached."""

    steps: int
    least_s: float
    most_s: float
    jitter: float

    def interval_s(self, deliveries: int) -> float:
        """Return the interval after so many deliveries, in seconds."""
        step = min(max(deliveries, 0), self.steps - 1)
        return self.least_s + step * (self.most_s - self.least_s) / self.steps

    def delay_s(self, deliveries: int, *, chance: Callable[[], float] = random.random) -> float:
        """Return how long to wait, to the millisecond; ``chance`` gives a number below one."""
        interval = self.interval_s(deliveries)
        ms = Decimal((interval * self.jitter + chance() * interval) * 1000)
        return int(ms.quantize(Decimal(1), rounding=ROUND_HALF_UP)) / 1000


TEN_MINUTES: Final = Backoff(steps=50, least_s=60.0, most_s=600.0, jitter=0.9)
ONE_MINUTE: Final = Backoff(steps=20, least_s=1.0, most_s=60.0, jitter=0.5)
ONE_HOUR: Final = Backoff(steps=20, least_s=600.0, most_s=3600.0, jitter=0.9)

POLLING: Final = Backoff(steps=20, least_s=0.5, most_s=10.0, jitter=0.1)
"""Between two requests for work that failed."""

POLICIES: Final = {"default": TEN_MINUTES, "10m": TEN_MINUTES, "1m": ONE_MINUTE, "1h": ONE_HOUR}
"""The policies of the engine by their names."""
