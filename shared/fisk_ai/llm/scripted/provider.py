"""A model that plays a file: rehearsal, demonstration and tests without a key or a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from fisk_ai import options
from fisk_ai.errors import ProviderError
from fisk_ai.llm.clock import pause
from fisk_ai.llm.model import Block, Delta, Request, Response, TextBlock, ThinkingBlock
from fisk_ai.llm.provider import OPTIONS_KEY, Capabilities, DeltaSink, ProviderConfig
from fisk_ai.llm.scripted.declared import CAPABILITIES
from fisk_ai.llm.scripted.position import newest_text, next_turn, turns_left
from fisk_ai.llm.scripted.script import Script, Turn, load
from fisk_ai.llm.scripted.shape import Failure
from fisk_ai.text.sanitise import for_terminal

ASKED_LIMIT: Final = 200
"""Code points of the unanswered text that an error shows."""

_WHAT: Final = "scripted llm"
_FRAGMENT: Final = re.compile(r"\s*\S+\s*|\s+")

_FAILURES: Final[dict[Failure, str]] = {
    "rate_limited": "the scripted model is rate limited",
    "overloaded": "the scripted model is overloaded",
    "refused": "the scripted model refused the request",
    "context_exceeded": "the conversation no longer fits the scripted model's context",
    "timeout": "the scripted model did not answer in time",
}


class _Options(msgspec.Struct, frozen=True):
    script: str = ""


class ScriptedProvider:
    """Plays one script; holds no position, so any number of runs share an instance."""

    __slots__ = ("_script",)

    def __init__(self, script: Script) -> None:
        self._script = script

    def capabilities(self) -> Capabilities:
        """Say that it streams and searches no tools."""
        return CAPABILITIES

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        """Play the next turn.

        Raises:
            ProviderError: the turn is a failure, or no turn that is left matches.
        """
        turn = next_turn(self._script.turns, request.messages, request.failed_attempts)
        if turn is None:
            raise self._exhausted(request)
        await pause(turn.delay_s)
        if turn.failure is not None:
            text = f"{_FAILURES[turn.failure]} (turn {turn.number} of {self._script.path})"
            raise ProviderError(text, failure=turn.failure)
        if on_delta is not None:
            await _stream(turn, on_delta)
        return Response(
            content=turn.content,
            stop_reason=turn.stop_reason,
            usage=turn.usage,
            id=f"scripted_{turn.number}",
            model=request.model,
        )

    async def close(self) -> None:
        """Hold nothing that needs closing."""

    def _exhausted(self, request: Request) -> ProviderError:
        asked = for_terminal(newest_text(request.messages), ASKED_LIMIT)
        left = turns_left(self._script.turns, request.messages, request.failed_attempts)
        reason = "has no turn left for"
        if left:
            turns = "1 turn" if left == 1 else f"{left} turns"
            reason = f"has {turns} left, but none whose when matches and none without when, for"
        return ProviderError(f"script {self._script.path} {reason}: {asked}", failure="failed")


def build(config: ProviderConfig) -> ScriptedProvider:
    """Read the script that ``llm.options.script`` names, relative to ``agent.yaml``.

    Raises:
        ConfigError: an option that is unknown or no path, or a script that cannot be played.
    """
    script = options.decode(_WHAT, config.options, _Options, key=OPTIONS_KEY).script
    if not script:
        raise options.invalid(_WHAT, "script must name a file", key=OPTIONS_KEY, name="script")
    return ScriptedProvider(load(Path(config.directory, script)))


async def _stream(turn: Turn, on_delta: DeltaSink) -> None:
    for index, block in enumerate(turn.content):
        for delta in _deltas(index, block):
            await on_delta(delta)


def _deltas(index: int, block: Block) -> list[Delta]:
    match block:
        case TextBlock():
            kind = "text"
        case ThinkingBlock():
            kind = "thinking"
        case _:
            return []
    words = _FRAGMENT.findall(block.text)
    return [Delta(index, kind, word) for word in words] + [Delta(index, kind, "", final=True)]
