"""The neutral conversation: what the loop, the journal, the tools and the renderers speak.

Nothing here knows a vendor. ``input`` and ``raw`` hold compact JSON *text*: key order, duplicate
keys and number spellings are a provider's own and are given back as they came. Rules:
``docs/reference/llm.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fisk_ai.llm.tool_def import ToolDef

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Prose of either side."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """A model's reasoning; ``signature`` is opaque and must go back unchanged."""

    text: str = ""
    signature: bytes = b""


@dataclass(frozen=True, slots=True)
class ToolUseBlock:
    """A call the model asks for; ``input`` is the compact JSON text of its arguments."""

    id: str
    name: str
    input: bytes = b"{}"


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """What a call returned, as text."""

    tool_use_id: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A block only its provider understands; ``raw`` is its compact JSON text, verbatim."""

    kind: str
    raw: bytes


Block = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ProviderBlock


@dataclass(frozen=True, slots=True)
class Message:
    """One side's turn; the order of ``content`` is the provider's."""

    role: Role
    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call: ``input`` without the cache tiers, ``thinking`` a part of ``output``."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_create: int = 0
    thinking: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """One model call.

    ``thinking`` is ``None`` when the configuration says nothing, ``interactive`` means that a
    person may take minutes between turns, and ``failed_attempts`` counts how often the call at
    this very position ended its run before (a script's failures are not played again).
    ``iteration`` is the index of the call in its session, ``None`` where nobody counts.
    """

    model: str
    system_blocks: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolDef, ...]
    max_output_tokens: int
    thinking: bool | None = None
    reasoning_effort: str = ""
    tool_search: bool = False
    prompt_cache: bool = True
    interactive: bool = False
    failed_attempts: int = 0
    iteration: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One model reply; ``stop_reason`` is carried as the provider spelled it."""

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage = field(default_factory=Usage)
    id: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """A fragment of a block that is still being written; the whole block follows."""

    index: int
    kind: Literal["text", "thinking"]
    text: str
    final: bool = False


def text_of(message: Message) -> str:
    """Return the message's text blocks, joined without a separator."""
    return "".join(block.text for block in message.content if isinstance(block, TextBlock))
