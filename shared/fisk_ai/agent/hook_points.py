"""Calling a run's hooks: what each is told, and what its error means.

An error of ours that a hook raises is its word against the run, put behind the hook's name; any
other exception is a bug and ends in the barrier. Rules: ``docs/reference/hooks.md``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from fisk_ai.agent.ending import TurnOver
from fisk_ai.agent.hooks import Hooks, RunStart, UserPrompt
from fisk_ai.errors import FiskError, RefusedError

NO_REASON = "no reason was given"


class PromptDeniedError(RefusedError):
    """A hook refused what a person said; ``reason`` is the hook's own word."""

    code = "prompt_denied"

    def __init__(self, reason: str, *, initial: bool) -> None:
        """Word the refusal for the prompt it was about."""
        which = "initial" if initial else "follow-up"
        super().__init__(f"the {which} prompt was rejected by a policy hook: {reason}")
        self.reason = reason


@contextmanager
def named(hook: str) -> Generator[None]:
    """Put the hook's name before the text of the error it raises.

    Raises:
        RefusedError: the hook refused.
    """
    try:
        yield
    except FiskError as exc:
        raise RefusedError(f"{hook} hook: {exc}") from exc


@contextmanager
def in_loop(hook: str, *, in_doubt: bool = False) -> Generator[None]:
    """Let the error of a hook end the turn and the run; ``in_doubt`` as of :class:`TurnEnd`.

    Raises:
        TurnOver: with ``error``.
    """
    try:
        with named(hook):
            yield
    except RefusedError as exc:
        raise TurnOver("error", exc, aborts=True, in_doubt=in_doubt) from exc


async def announce(hooks: Hooks, start: RunStart) -> None:
    """Tell that a run is about to open its session.

    Raises:
        RefusedError: the hook refused the run.
    """
    if hooks.run_start is not None:
        with named("run_start"):
            await hooks.run_start(start)


async def vet(hooks: Hooks, prompt: UserPrompt) -> str:
    """Return the words that join the conversation: those given, or what the hook made of them.

    Raises:
        PromptDeniedError: the hook refused them.
        RefusedError: the hook failed.
    """
    if hooks.user_prompt_submit is None:
        return prompt.text
    with named("user_prompt_submit"):
        verdict = await hooks.user_prompt_submit(prompt)
    if verdict is None:
        return prompt.text
    if verdict.deny:
        raise PromptDeniedError(verdict.reason or NO_REASON, initial=prompt.initial)
    return prompt.text if verdict.rewrite is None else verdict.rewrite


async def vet_all(hooks: Hooks, text: str, context: str, *, initial: bool) -> tuple[str, str]:
    """Return a prompt and the context beside it as they may join; raises as :func:`vet`."""
    if hooks.user_prompt_submit is None:
        return text, context
    text = await vet(hooks, UserPrompt(text=text, initial=initial))
    if context:
        context = await vet(hooks, UserPrompt(text=context, initial=initial, part="context"))
    return text, context
