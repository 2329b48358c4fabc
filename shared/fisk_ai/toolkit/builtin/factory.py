"""How every built-in tool is made: of kind builtin, in front of the model, served by decision."""

from __future__ import annotations

from dataclasses import replace

from fisk_ai.errors import SetupError
from fisk_ai.toolkit.functool import Exposure, FunctionSpec, FunctionTool

OPTIONS_KEY = "options"
"""Where a tool's options stand that is built outside a list."""


def builtin_tool(spec: FunctionSpec, *, expose: Exposure) -> FunctionTool:
    """Build one; ``expose`` is asked for apart so that nobody serves a tool by leaving it out.

    Raises:
        ValueError: the specification cannot be one tool; a mistake of the programmer.
    """
    try:
        return FunctionTool(replace(spec, kind="builtin", no_defer=True, expose=expose))
    except SetupError as exc:
        raise ValueError(str(exc)) from exc
