"""What an agent sends back: the acknowledgement, the terminals, the card."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from fisk_ai.a2a.header import NAMESPACE, Count, Header, Part, StopReason, Token


class UsageCounts(Part, frozen=True, kw_only=True):
    """Tokens and calls; ``input_tokens`` includes what the cache tiers served."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_create_tokens: Count = 0
    thinking_tokens: Count = 0
    llm_calls: Count = 0
    tool_calls: Count = 0


class Ack(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.ack"):
    """The first message of a reply set, or the whole reply to a control message.

    ``conversation_token`` is the credential of the conversation: keep it from here, since a run
    can die without a terminal. ``max_tokens`` is 0 where nothing bounds the conversation.
    """

    accepted: bool
    reason: str = ""
    conversation_token: Token = ""
    max_tokens: Count = 0


class Result(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.result"):
    """The terminal of a task that ended as asked; ``text`` is the answer."""

    stop_reason: StopReason
    text: str = ""
    usage: UsageCounts | UnsetType = UNSET
    trace_id: str = ""
    content_exported: bool = False


class ErrorTerminal(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.error"):
    """The terminal of a task that did not; ``error`` is fit for a person to read."""

    error: str
    code: str = ""
    stop_reason: StopReason = ""
    usage: UsageCounts | UnsetType = UNSET
    trace_id: str = ""
    content_exported: bool = False


class BehaviorHints(Part, frozen=True, kw_only=True):
    """What an agent says its tool does to the world; an absent member says nothing."""

    read_only: bool | UnsetType = UNSET
    destructive: bool | UnsetType = UNSET
    idempotent: bool | UnsetType = UNSET
    open_world: bool | UnsetType = UNSET


class ToolDescriptor(Part, frozen=True, kw_only=True):
    """A tool an agent serves."""

    name: str
    description: str = ""
    input_schema: dict[str, object] | UnsetType = UNSET
    behavior: BehaviorHints | UnsetType = UNSET


class DiscoveryReply(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.discovery.reply"):
    """An agent's card; ``model`` is there only when it answers prompts."""

    name: str
    version: str
    description: str = ""
    model: Annotated[str, Meta(max_length=128)] = ""
    protocols: tuple[str, ...] = ()
    tools: tuple[ToolDescriptor, ...] = ()
    telemetry: bool = False
    telemetry_content: bool = False
    display_name: str = ""
    icon: str = ""
    icon_url: str = ""
    prompts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Terminal = Result | ErrorTerminal
