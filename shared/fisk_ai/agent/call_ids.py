"""One id, one call: what a reply calls twice, or calls as an earlier one did, is renamed.

Results, approvals, doubts and ``FISK_AI_CALL`` all go by the id, and providers refuse a
conversation in which one stands twice. Models of some gateways number or name their calls alike, so
a reply is mended before anything of it is recorded or run; whoever wrote it never compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fisk_ai.agent.conversation import calls_of
from fisk_ai.llm.model import Block, Message, Response, ToolUseBlock
from fisk_ai.text.ids import ksuid

PREFIX = "call_"
"""Begins an id of our own; providers take letters, digits, ``_`` and ``-``."""


def with_own_ids(response: Response, earlier: Sequence[Message]) -> Response:
    """Return ``response`` with a fresh id for each call whose own is empty or taken."""
    taken = {call.id for message in earlier for call in calls_of(message.content)} | {""}
    content: list[Block] = []
    for block in response.content:
        if isinstance(block, ToolUseBlock):
            own = block.id if block.id not in taken else f"{PREFIX}{ksuid()}"
            taken.add(own)
            content.append(replace(block, id=own))
        else:
            content.append(block)
    return replace(response, content=tuple(content))
