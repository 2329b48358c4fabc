"""Calling a tool, whoever wrote it: apart from its caller, and with an outcome that can be used.

Rules: ``docs/reference/agent-loop.md``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

from fisk_ai.agent.apart import apart
from fisk_ai.errors import ToolError
from fisk_ai.text.typename import a_type
from fisk_ai.toolkit.contract import CallContext, ExecDeps, Tool, ToolOutcome


async def call(
    tool: Tool,
    raw: bytes,
    context: CallContext,
    *,
    deps: ExecDeps,
    limit_s: float | None,
    grace_s: float,
) -> ToolOutcome:
    """Call ``tool`` once with the JSON text of its arguments; the limits are those of ``apart``.

    Raises:
        OutOfTimeError, StrayError, asyncio.CancelledError: as ``apart``.
        ToolError: it returned what is no outcome.
        Exception: whatever the tool raises.
    """

    async def work() -> ToolOutcome:
        return _outcome(tool.name, await _awaitable(tool, tool.execute(context, raw, deps)))

    return await apart(work, f'the tool "{tool.name}"', limit_s=limit_s, grace_s=grace_s)


def _awaitable(tool: Tool, returned: object) -> Awaitable[object]:
    if isinstance(returned, Awaitable):
        return cast("Awaitable[object]", returned)
    raise _unfit(tool.name, returned, "which cannot be awaited; its execute must be async")


def _outcome(name: str, returned: object) -> ToolOutcome:
    if not isinstance(returned, ToolOutcome):
        raise _unfit(name, returned, "where a ToolOutcome is wanted")
    output = cast("object", returned.output)
    if not isinstance(output, str):
        raise _unfit(name, output, "where a str is wanted")
    return returned


def _unfit(name: str, returned: object, why: str) -> ToolError:
    return ToolError(f'the tool "{name}" returned {a_type(returned)}, {why}')
