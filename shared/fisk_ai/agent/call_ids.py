"""One id, one call: what a reply calls twice, or calls as an earlier one did, is renamed.

Results, approvals, doubts and ``FISK_AI_CALL`` all go by the id, and providers refuse a
conversation in which one stands twice. Models of some gateways number or name their calls alike, so
a reply is mended before anything of it is recorded or run; whoever wrote it never compares.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from fisk_ai.llm.model import Block, Response, ToolUseBlock
from fisk_ai.text.ids import ksuid

PREFIX = "call_"
"""Begins an id of our own; providers take letters, digits, ``_`` and ``-``."""


def with_own_ids(response: Response, earlier: AbstractSet[str]) -> Response:
    """Return ``response`` with a fresh id for each call whose own is empty or taken."""
    own_ids = {""}
    content: list[Block] = []
    for block in response.content:
        if isinstance(block, ToolUseBlock):
            is_taken = block.id in own_ids or block.id in earlier
            own = f"{PREFIX}{ksuid()}" if is_taken else block.id
            own_ids.add(own)
            content.append(replace(block, id=own))
        else:
            content.append(block)
    return replace(response, content=tuple(content))
