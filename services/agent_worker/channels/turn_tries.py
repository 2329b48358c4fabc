"""How often a turn was begun without a step of its session, and when that is enough.

Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fisk_ai.a2a.durable import headers
from fisk_ai.bus.stored import Stored

LIMIT: Final = 3
"""Tries without a step after which a turn must not travel through the whole fleet."""

DELAYS_S: Final = (5.0, 10.0, 20.0, 40.0, 60.0)
"""How long a turn that cannot be taken now waits, by the number of its deliveries."""


def number_of(newest: Stored | None, last_seq: int) -> int:
    """Return which try begins now: the session stands at ``last_seq``, the set at ``newest``."""
    if newest is None or headers.number(newest.headers, headers.JOURNAL) != last_seq:
        return 1
    return headers.number(newest.headers, headers.TRY) + 1


def delay_s(deliveries: int, delays_s: Sequence[float] = DELAYS_S) -> float:
    """Return how long a turn waits that was delivered so often."""
    return delays_s[min(max(deliveries, 1), len(delays_s)) - 1]
