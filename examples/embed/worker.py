#!/usr/bin/env python3
"""A worker of one's own: functions of this process as tools, and a hook that guards them."""

from __future__ import annotations

import sys

import msgspec

from agent_worker import serve
from fisk_ai.agent.hooks import Hooks, PreToolUse, ToolVerdict
from fisk_ai.toolkit.functool import Confirm
from fisk_ai.toolkit.typed import tool

STOCK = {"moo-1": 12, "moo-2": 0}
MOST = 10


@tool
async def stock(article: str) -> dict[str, object]:
    """Say how many pieces of an article are in stock."""
    if article not in STOCK:
        return {"found": False, "articles": sorted(STOCK)}
    return {"found": True, "article": article, "pieces": STOCK[article]}


@tool(confirm=Confirm(tags=("writes",)))
async def order(article: str, pieces: int = 1) -> str:
    """Order pieces of an article; a person is asked first."""
    STOCK[article] = STOCK.get(article, 0) + pieces
    return f"ordered {pieces} of {article}"


class Order(msgspec.Struct):
    """What the hook looks at of an order."""

    pieces: int = 1


async def no_large_order(call: PreToolUse) -> ToolVerdict | None:
    """Refuse an order that is too large, before anybody is asked."""
    if call.tool_name == "order" and msgspec.json.decode(call.input, type=Order).pieces > MOST:
        return ToolVerdict(deny=True, reason=f"nobody orders more than {MOST} pieces here")
    return None


if __name__ == "__main__":
    sys.exit(serve(tools=[stock, order], hooks=Hooks(pre_tool_use=no_large_order)))
