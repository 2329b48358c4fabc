"""The one rule of record numbers, shared by every backend.

Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from fisk_ai.errors import SeqGapError


def check_append(last: int, seq: int) -> bool:
    """Say whether record ``seq`` is to be written behind record ``last``.

    A number already written is not, so that a retried append is harmless.

    Raises:
        SeqGapError: ``seq`` is beyond the next number.
    """
    if seq > last + 1:
        raise SeqGapError(
            f"record {seq} cannot follow record {last}: the next one is {last + 1}; "
            "append at last_seq() + 1"
        )
    return seq == last + 1
