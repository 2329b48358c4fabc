"""What ``harness`` may hold and what it means: the checks of its blocks, then their defaults."""

from __future__ import annotations

from typing import Final, TypeVar

from fisk_ai.config import citations
from fisk_ai.config.checks import check_choice, check_duration, word
from fisk_ai.config.harness import (
    DEFAULT_PII_MODE,
    PII_MODES,
    BuiltinTool,
    Embeddings,
    Harness,
    Knowledge,
    Stored,
)
from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

BUILTIN_TOOLS: Final = ("read_file", "base64_encode")
"""Tools that an entry of ``harness.tools`` enables; others belong to a block of their own."""

_TOOLS: Final = "harness.tools"

S = TypeVar("S", bound=Stored)


def check_pii(harness: Harness) -> None:
    """Refuse an unknown mode.

    Raises:
        ConfigError: lists the modes.
    """
    check_choice("harness.pii.mode", harness.pii.mode, PII_MODES)


def check_tool_timeout(harness: Harness) -> None:
    """Refuse a negative time; zero bounds nothing.

    Raises:
        ConfigError: it is negative, or no duration.
    """
    check_duration("harness.tool_timeout", harness.tool_timeout, zero=True)


def check_tools(harness: Harness) -> None:
    """Refuse an entry without a name, of an unknown tool, or of one listed before.

    Raises:
        ConfigError: names the entry.
    """
    seen: set[str] = set()
    for position, tool in enumerate(harness.tools, start=1):
        reason = _tool_fault(tool.name.strip(), position, seen)
        if reason:
            raise ConfigError(f"{_TOOLS}: {reason}", key=_TOOLS)
        seen.add(tool.name.strip())


def check_knowledge(knowledge: Knowledge) -> None:
    """Refuse a citation rule or an embeddings service that could never work.

    Raises:
        ConfigError: names the rule or the key.
    """
    citations.check(knowledge.citations)
    if knowledge.embeddings is not None:
        _check_embeddings(knowledge.embeddings)


def normalise_harness(harness: Harness) -> Harness:
    """Return ``harness`` with its words trimmed and its defaults filled in."""
    mode = word(harness.pii.mode, DEFAULT_PII_MODE)
    return harness.model_copy(
        update={
            # An empty one stays: it gates nothing, and whatever gates nothing is warned of.
            "confirm_tags": list(dict.fromkeys(tag.strip() for tag in harness.confirm_tags)),
            "pii": harness.pii.model_copy(update={"mode": mode}),
            "tools": [_trimmed(tool) for tool in harness.tools],
            "memory": _with_backend(harness.memory),
            "sessions": _with_backend(harness.sessions),
        }
    )


def _tool_fault(name: str, position: int, seen: set[str]) -> str:
    if not name:
        return f"entry {position} has no name"
    if name not in BUILTIN_TOOLS:
        accepted = ", ".join(BUILTIN_TOOLS)
        return f"{quote(name)} is not a built-in an entry can enable; accepted: {accepted}"
    return f"{quote(name)} is listed twice" if name in seen else ""


def _check_embeddings(embeddings: Embeddings) -> None:
    key = "harness.knowledge.embeddings"
    if embeddings.api_key_env and embeddings.api_key_file:
        raise ConfigError(
            f"{key}.api_key_env and {key}.api_key_file are both set: keep one", key=key
        )
    check_duration(f"{key}.timeout", embeddings.timeout)


def _trimmed(tool: BuiltinTool) -> BuiltinTool:
    return tool.model_copy(update={"name": tool.name.strip()})


def _with_backend(block: S) -> S:
    """Leave an empty backend to the default, so that nothing counts as declared."""
    if block.backend:
        return block
    written = {name: getattr(block, name) for name in block.model_fields_set - {"backend"}}
    return type(block).model_validate(written)
