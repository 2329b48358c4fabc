"""Which token counts can be believed, whoever reports them.

Budgets, journals and messages add counts up and refuse a negative one. An absurd count must cost
neither the reply that was paid for nor the bound on what is spent, so it counts as zero.
"""

from __future__ import annotations

import logging
from typing import Final

from fisk_ai.llm.model import Usage

COUNT_MAX: Final = 2**53
"""No model uses as many tokens, and every JSON reader can hold the number."""

_log = logging.getLogger(__name__)


def believed(usage: Usage) -> Usage:
    """Return ``usage`` with zero for each count that cannot be; one line in the log says so."""
    sound = Usage(
        input=sound_count(usage.input),
        output=sound_count(usage.output),
        cache_read=sound_count(usage.cache_read),
        cache_create=sound_count(usage.cache_create),
        thinking=sound_count(usage.thinking),
    )
    if sound != usage:
        _log.warning("the model reported a number of tokens that cannot be; it counts as 0")
    return sound


def sound_count(count: int) -> int:
    """Return ``count``, or 0 for one that is negative or beyond :data:`COUNT_MAX`."""
    return count if 0 <= count <= COUNT_MAX else 0
