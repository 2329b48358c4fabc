"""How many processors this process may use, also where a container allows it a part of them."""

from __future__ import annotations

import math
import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""``<microseconds> <period>``, or ``max`` in place of the first where nothing is bounded."""


def available_cpus(quota: Path = _QUOTA) -> int:
    """Return the processors this process may use, at least one."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(allowed or 1, _granted(quota)))


def _granted(quota: Path) -> int:
    try:
        share, period = quota.read_text().split()
        return math.ceil(int(share) / int(period))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or no bound
        return os.cpu_count() or 1
