"""The fingerprint of a configuration: what its sessions are bound to.

A run starts with it, and a terminal compares it before it asks for a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.agent.notes import notes
from fisk_ai.config import Config
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.sessions import fingerprint
from fisk_ai.sessions.records import Fingerprint


def fingerprint_of(config: Config, *, provider: str, tools: Sequence[ToolDef] = ()) -> Fingerprint:
    """Describe a run of ``config``; who compares no tools need not know them."""
    return fingerprint.build(
        provider=provider,
        model=config.llm.model,
        system_prompt=config.system_prompt,
        note_ids=[note.id for note in notes(config)],
        tools=tools,
        thinking_enabled=config.llm.thinking_enabled,
        reasoning_effort=config.llm.reasoning_effort,
        max_tokens=config.llm.budget.max_tokens,
        max_iterations=config.llm.budget.max_iterations,
    )
