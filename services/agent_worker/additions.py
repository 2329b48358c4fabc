"""What an embedder's own worker brings beside its configuration; nothing has checked its types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, cast

from fisk_ai.errors import SetupError

if TYPE_CHECKING:
    from fisk_ai.agent.hooks import Hooks
    from fisk_ai.toolkit.contract import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Tools and hooks that code adds to the agent."""

    tools: tuple[Tool, ...] = ()
    hooks: Hooks | None = None

    @classmethod
    def of(cls, tools: object, hooks: object) -> Additions:
        """Return what ``serve`` was called with.

        Raises:
            SetupError: it is of another type; names the argument and the position.
        """
        return cls(tools=_tools(tools), hooks=_hooks(hooks))


def _tools(brought: object) -> tuple[Tool, ...]:
    from fisk_ai.toolkit.contract import Tool  # noqa: PLC0415 - read when something was brought

    if not isinstance(brought, Iterable):
        raise _refused("tools", brought, "a list of tools")
    tools = tuple(cast("Iterable[object]", brought))
    for position, tool in enumerate(tools):
        if isinstance(tool, type) or not isinstance(tool, Tool):
            what = "a tool; make one with fisk_ai.toolkit.typed.tool"
            raise _refused(f"tools[{position}]", tool, what)
    return cast("tuple[Tool, ...]", tools)


def _hooks(brought: object) -> Hooks | None:
    from fisk_ai.agent.hooks import Hooks  # noqa: PLC0415 - as above

    if brought is None:
        return None
    if not isinstance(brought, Hooks):
        raise _refused("hooks", brought, "fisk_ai.agent.hooks.Hooks")
    for field in fields(brought):
        hook: object = getattr(brought, field.name)
        if hook is not None and not callable(hook):
            raise _refused(f"hooks.{field.name}", hook, "an async function")
    return brought


def _refused(argument: str, brought: object, wanted: str) -> SetupError:
    return SetupError(
        f"serve was given {argument} of type {type(brought).__name__}, which is not {wanted}",
        key=argument,
    )
