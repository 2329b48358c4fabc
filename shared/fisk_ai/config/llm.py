"""``llm``: which model answers, how it thinks, and what one conversation may cost."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from fisk_ai.config.block import Block, Text, Whole, seconds

DEFAULT_PROVIDER: Final = "anthropic"
DEFAULT_MAX_TOKENS: Final = 500_000
DEFAULT_MAX_ITERATIONS: Final = 50
DEFAULT_CALL_TIMEOUT_S: Final = 120.0
OUTPUT_CAP: Final = 8192
THINKING_OUTPUT_CAP: Final = 16_384
"""Thinking is counted as output: with it on, an answer needs twice the room."""


class Budget(Block):
    """Bounds of a conversation (tokens), of a turn (iterations) and of one model call."""

    max_tokens: Whole = DEFAULT_MAX_TOKENS
    max_output_tokens: Whole = 0
    max_iterations: Whole = DEFAULT_MAX_ITERATIONS
    call_timeout: Text = ""

    @property
    def call_timeout_s(self) -> float:
        """Seconds one model call may take, with all its retries."""
        return seconds(self.call_timeout, DEFAULT_CALL_TIMEOUT_S)


class Thinking(Block):
    """An explicit request for thinking, or for none."""

    enabled: bool = False


class Llm(Block):
    """The model and its limits; ``options`` belong to the provider, which decodes them."""

    model: Text = ""
    provider: Text = DEFAULT_PROVIDER
    budget: Budget = Budget.unwritten()
    thinking: Thinking | None = None
    reasoning_effort: Text = ""
    no_prompt_cache: bool = False
    no_tool_search: bool = False
    options: dict[str, object] = Field(default_factory=dict)

    @property
    def thinking_enabled(self) -> bool | None:
        """``None`` while the file says nothing: then no thinking parameter is sent."""
        return self.thinking.enabled if self.thinking else None

    @property
    def output_cap(self) -> int:
        """The most tokens one response may have."""
        if self.budget.max_output_tokens > 0:
            return self.budget.max_output_tokens
        return THINKING_OUTPUT_CAP if self.thinking_enabled else OUTPUT_CAP
