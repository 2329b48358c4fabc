"""A tool as models are told of it.

It stands apart from the conversation, since tools are described where no model is asked, and is
made by the hundred, which a struct does in a fraction of the time of a dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class ToolDef(msgspec.Struct, frozen=True):
    """The name, purpose and arguments; ``input_schema`` must never be changed in place."""

    name: str
    description: str
    input_schema: Mapping[str, object]
    defer_loading: bool = False
