"""A tool as models are told of it.

It stands apart from the conversation, since tools are described where no model is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolDef:
    """The name, purpose and arguments; ``input_schema`` must never be changed in place."""

    name: str
    description: str
    input_schema: Mapping[str, object]
    defer_loading: bool = False
