"""The hooks of an embedder as a run calls them: apart from it, and with a verdict it can use.

A hook that cancels its own task or raises what is no ``Exception`` has failed, and so has one that
is no async function or returns something else than its point takes: that is told in words instead
of crashing the run. Rules: ``docs/reference/hooks.md``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields, replace
from types import NoneType
from typing import TypeVar, cast

from fisk_ai.agent.apart import GRACE_S, OutOfTimeError, StrayError, apart
from fisk_ai.agent.hooks import AtRunEnd, Hooks, PromptVerdict, Replacement, ToolVerdict
from fisk_ai.errors import RefusedError
from fisk_ai.text.typename import a_type

P = TypeVar("P")
R = TypeVar("R")

_VERDICTS: Mapping[str, type[object]] = {
    "user_prompt_submit": PromptVerdict,
    "pre_tool_use": ToolVerdict,
    "post_tool_use": Replacement,
}
"""What a hook may return; any other returns nothing that counts."""

_TYPES: Mapping[str, tuple[type[object], ...]] = {
    "reason": (str,),
    "rewrite": (str, NoneType),
    "rewrite_tool": (str,),
    "rewrite_input": (bytes, NoneType),
    "output": (str,),
}
"""Members of verdicts that enter the conversation; any other is taken as true or false."""

RUN_END_S = 10.0
"""How long ``run_end`` may hold an outcome that stands: enough to tell a slow service, and short of
what a person takes for a hang."""

_LAST = "run_end"


def kept_apart(hooks: Hooks, must_hurry: Callable[[], bool]) -> Hooks:
    """Return ``hooks`` as a run calls them; one that is not set stays so.

    ``must_hurry`` says whether the run was asked to stop: the last hook has less time then.
    """
    found = {field.name: getattr(hooks, field.name) for field in fields(hooks)}
    kept = {name: _apart(name, hook) for name, hook in found.items() if hook}
    if hooks.run_end is not None:
        kept[_LAST] = _bounded(hooks.run_end, must_hurry)
    return replace(hooks, **kept)


def _bounded(
    hook: Callable[[AtRunEnd], Awaitable[None]], must_hurry: Callable[[], bool]
) -> Callable[[AtRunEnd], Awaitable[None]]:
    """Return the last hook with a limit: nothing waits for what it says, but for its end."""

    async def call(told: AtRunEnd) -> None:
        try:
            await apart(
                lambda: _called(hook, told),
                f"the {_LAST} hook",
                limit_s=RUN_END_S,
                grace_s=GRACE_S,
                must_hurry=must_hurry,
            )
        except StrayError as exc:
            raise RefusedError(f"it {exc.in_full()}") from exc
        except OutOfTimeError as exc:
            end = "was cancelled" if exc.heeded else "was left behind, as cancelling it did nothing"
            raise RefusedError(f"it did not end in time and {end}") from exc

    return call


def _apart(name: str, hook: Callable[[P], Awaitable[R]]) -> Callable[[P], Awaitable[R]]:
    async def call(told: P) -> R:
        try:
            verdict = await apart(lambda: _called(hook, told), f"the {name} hook")
        except StrayError as exc:
            raise RefusedError(f"it {exc}") from exc
        wanted = _VERDICTS.get(name)
        if wanted is not None and verdict is not None:
            _require(verdict, wanted)
        return verdict

    return call


async def _called(hook: Callable[[P], Awaitable[R]], told: P) -> R:
    """Call a hook and wait for it.

    Raises:
        RefusedError: it is an ordinary function. Whatever the hook raises is passed on.
    """
    returned = cast("object", hook(told))
    if not isinstance(returned, Awaitable):
        given = a_type(returned)
        raise RefusedError(f"it is no async function and returned {given}; write async def")
    return await cast("Awaitable[R]", returned)


def _require(verdict: object, wanted: type[object]) -> None:
    if not isinstance(verdict, wanted):
        raise RefusedError(
            f"it returned {a_type(verdict)}, where {wanted.__name__} or None is wanted"
        )
    for member, types in _TYPES.items():
        value = getattr(verdict, member, None)
        if hasattr(verdict, member) and not isinstance(value, types):
            raise RefusedError(
                f"its {member} is of type {type(value).__name__}, where {types[0].__name__} is "
                "wanted"
            )
