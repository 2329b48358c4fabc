"""The points of a run at which code of an embedder may look, refuse or rewrite.

Every hook is optional; the run waits for it, in the order of the loop. What it is given is a copy.
An error it raises ends the run, its text prefixed with the hook's name, except that of ``run_end``.
Rules: ``docs/reference/hooks.md``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from fisk_ai.agent.stats import Stats
from fisk_ai.llm.model import Response
from fisk_ai.sessions.records import Reason
from fisk_ai.toolkit.contract import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """A run is set up; ``tool_names`` is sorted and holds deferred tools, too."""

    session_id: str
    resumed: bool
    interactive: bool
    model: str
    tool_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPrompt:
    """A person's words before they join the conversation.

    ``part`` tells the prompt from the context a caller sent beside it, which fires on its own.
    """

    text: str
    initial: bool
    part: Literal["prompt", "context"] = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreModelCall:
    """A model call begins; counts only."""

    iteration: int
    model: str
    messages: int
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PostModelCall:
    """A reply arrived; ``terminal`` says that it ends the turn, ``tool_calls`` counts its calls."""

    iteration: int
    response: Response
    terminal: bool
    tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreToolUse:
    """A call is about to be made; ``gated`` says that a person must allow it."""

    tool_name: str
    tool_use_id: str
    input: bytes
    kind: Kind
    gated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PostToolUse:
    """A call has run; ``output`` is what the model would read of it."""

    tool_name: str
    tool_use_id: str
    input: bytes
    kind: Kind
    gated: bool
    output: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTurnEnd:
    """An interactive run stands at a boundary; ``iteration`` is the next model call's index."""

    reason: Reason
    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRunEnd:
    """A run that reached its loop is over; after a crash ``reason`` and ``error`` are unset."""

    session_id: str
    reason: Reason | None
    crashed: bool
    error: Exception | None
    stats: Stats


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVerdict:
    """What to do with a prompt: refuse it, or put ``rewrite`` in its place."""

    deny: bool = False
    reason: str = ""
    rewrite: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVerdict:
    """What to do with a call: refuse it, or send it to another tool or with other arguments.

    ``rewrite_tool`` may name any tool of the run; ``rewrite_input`` replaces the whole input.
    """

    deny: bool = False
    reason: str = ""
    rewrite_tool: str = ""
    rewrite_input: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """What the model reads instead of a tool's output; an empty ``output`` counts."""

    output: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The hooks of one run; ``None`` where there is nothing to do."""

    run_start: Callable[[RunStart], Awaitable[None]] | None = None
    user_prompt_submit: Callable[[UserPrompt], Awaitable[PromptVerdict | None]] | None = None
    pre_model_call: Callable[[PreModelCall], Awaitable[None]] | None = None
    post_model_call: Callable[[PostModelCall], Awaitable[None]] | None = None
    pre_tool_use: Callable[[PreToolUse], Awaitable[ToolVerdict | None]] | None = None
    post_tool_use: Callable[[PostToolUse], Awaitable[Replacement | None]] | None = None
    turn_end: Callable[[AtTurnEnd], Awaitable[None]] | None = None
    run_end: Callable[[AtRunEnd], Awaitable[None]] | None = None

    def scanned_by(
        self,
        prompt: Callable[[UserPrompt], Awaitable[PromptVerdict | None]],
        result: Callable[[PostToolUse], Awaitable[Replacement | None]],
    ) -> Hooks:
        """Return these hooks with two of them replaced; for a guard that wraps them."""
        return replace(self, user_prompt_submit=prompt, post_tool_use=result)
