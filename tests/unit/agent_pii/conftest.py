"""A guarded run's hooks, and what became of the texts given to them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fisk_ai.agent.hooks import Hooks, PostToolUse, PromptVerdict, Replacement, UserPrompt
from fisk_ai.agent.pii.guard import guarded
from fisk_ai.agent.pii.rules import compiled
from fisk_ai.agent.pii.scanner import RULES, Scan, Scanner
from fisk_ai.toolkit.contract import Advisory


class WatchedScanner(Scanner):
    """A scanner that notes what it was given, and in which thread."""

    def __init__(self) -> None:
        super().__init__(tuple(map(compiled, RULES)))
        self.texts: list[str] = []
        self.threads: list[int] = []

    def scan(self, text: str) -> Scan:
        self.texts.append(text)
        self.threads.append(threading.get_ident())
        return super().scan(text)


@dataclass
class Guarded:
    """Hooks behind a guard."""

    hooks: Hooks
    scanner: WatchedScanner
    advisories: list[Advisory] = field(default_factory=list[Advisory])

    async def prompt(self, text: str, **more: object) -> PromptVerdict | None:
        hook = self.hooks.user_prompt_submit
        assert hook is not None
        part = "context" if more.get("context") else "prompt"
        return await hook(UserPrompt(text=text, initial=True, part=part))

    async def result(
        self, output: str, *, tool: str = "show", is_error: bool = False
    ) -> Replacement | None:
        hook = self.hooks.post_tool_use
        assert hook is not None
        event = PostToolUse(
            tool_name=tool,
            tool_use_id="t1",
            input=b"{}",
            kind="custom",
            gated=False,
            output=output,
            is_error=is_error,
        )
        return await hook(event)


@pytest.fixture
def guard() -> Callable[..., Guarded]:
    """Return how to put a guard around hooks."""

    def build(mode: str = "redact", hooks: Hooks | None = None) -> Guarded:
        scanner = WatchedScanner()
        advisories: list[Advisory] = []

        async def warn(advisory: Advisory) -> None:
            advisories.append(advisory)

        return Guarded(guarded(hooks or Hooks(), mode, scanner, warn), scanner, advisories)

    return build
