"""Calls whose arguments no session can hold: left out of the reply, so that the rest of it counts.

The reply is paid for, and the model can mend the call once it is told.
"""

from __future__ import annotations

from dataclasses import replace

from fisk_ai.llm import deep
from fisk_ai.llm.model import Response, ToolUseBlock


def without_deep_calls(response: Response) -> Response:
    """Return ``response`` with :data:`fisk_ai.llm.deep.LEFT_OUT` for what is nested too deeply."""
    content = tuple(
        replace(block, input=deep.kept(block.input)) if isinstance(block, ToolUseBlock) else block
        for block in response.content
    )
    return replace(response, content=content)
