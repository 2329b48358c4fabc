"""The attempts of one call: whether another fits into its time, and how the last one failed.

An API that is busy says when to come back. Waiting for longer than a call may take would end as a
timeout, which hides the reason and keeps everybody waiting. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from fisk_ai.llm.anthropic.failures import LONGEST_WAIT_S, ApiFailure


@dataclass(slots=True)
class Attempts:
    """What became of one call so far.

    ``ends_at`` is in the time of the running event loop, ``iteration`` the call's index in its
    session, if it has one.
    """

    ends_at: float
    iteration: int | None = None
    last: ApiFailure | None = None

    def failed(self, failure: ApiFailure) -> bool:
        """Note a failed attempt; say whether there is time for another."""
        self.last = failure
        left_s = self.ends_at - asyncio.get_running_loop().time()
        return failure.wait_s < left_s


def wait_asked_s(headers: Mapping[str, str]) -> float:
    """Return for how many seconds a response asks to be left alone; 0 when it does not say."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    written = headers.get("retry-after", "")
    seconds = _number(written)
    return _bounded(_until(written) if seconds is None else seconds)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _until(date: str) -> float:
    try:
        at = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (zoned - datetime.now(UTC)).total_seconds()


def _bounded(seconds: float) -> float:
    return 0.0 if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_WAIT_S)
