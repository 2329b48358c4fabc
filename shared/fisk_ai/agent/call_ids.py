"""One id, one call: what a reply calls twice, or calls as an earlier one did, is renamed.

Results, approvals, doubts and ``FISK_AI_CALL`` all go by the id, and providers refuse a
conversation in which one stands twice. Models of some gateways number or name their calls alike, or
in characters that a journal, a message or an environment cannot hold, so a reply is mended before
anything of it is recorded or run; whoever wrote it never compares.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from fisk_ai.llm.model import Block, Response, ToolUseBlock
from fisk_ai.text.ids import ksuid
from fisk_ai.text.sanitise import clean_surrogates

PREFIX = "call_"
"""Begins an id of our own; providers take letters, digits, ``_`` and ``-``."""

ID_LIMIT = 256
"""Characters of an id that questions and answers about its call can name."""


def with_own_ids(response: Response, earlier: AbstractSet[str]) -> Response:
    """Return ``response`` with a fresh id for each call whose own is taken or can be no id."""
    own_ids: set[str] = set()
    content: list[Block] = []
    for block in response.content:
        if isinstance(block, ToolUseBlock):
            is_taken = block.id in own_ids or block.id in earlier
            own = block.id if _can_be_id(block.id) and not is_taken else f"{PREFIX}{ksuid()}"
            own_ids.add(own)
            content.append(replace(block, id=own))
        else:
            content.append(block)
    return replace(response, content=tuple(content))


def _can_be_id(text: str) -> bool:
    """Say whether every place that keeps an id keeps this one as it is."""
    return 0 < len(text) <= ID_LIMIT and "\0" not in text and clean_surrogates(text) == text
