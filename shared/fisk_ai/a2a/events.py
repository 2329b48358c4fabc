"""The blocks of a reply set's events. A block has no type field: the message's id names it."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from fisk_ai.a2a.header import Count, Header, Part, Time, require_time
from fisk_ai.a2a.replies import UsageCounts

Arguments = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class TimedBlock(Part, frozen=True, kw_only=True):
    """A block that says when the journal recorded it; replayed blocks only."""

    time: Time = ""

    def __post_init__(self) -> None:
        """Check the time.

        Raises:
            ValueError: it is no RFC 3339 time.
        """
        if self.time:
            require_time(self.time)


class TextBlockEvent(TimedBlock, frozen=True, kw_only=True):
    """Prose of the agent; ``final`` marks the answer, ``index`` the block's place in its turn."""

    text: str
    final: bool = False
    index: Count = 0
    trimmed: bool = False


class ThinkingBlockEvent(TimedBlock, frozen=True, kw_only=True):
    """Reasoning of the agent, without its signature."""

    text: str
    provider: str = ""
    index: Count = 0
    trimmed: bool = False


class DeltaBlock(Part, frozen=True, kw_only=True):
    """A fragment of a block still being written; the whole block follows and replaces it."""

    index: Count
    iteration: Count = 0
    text: str = ""
    final: bool = False


class TextDeltaBlockEvent(DeltaBlock, frozen=True, kw_only=True):
    """A fragment of prose."""


class ThinkingDeltaBlockEvent(DeltaBlock, frozen=True, kw_only=True):
    """A fragment of reasoning."""


class PromptBlockEvent(TimedBlock, frozen=True, kw_only=True):
    """A replayed message of the caller."""

    text: str


class ToolCallBlockEvent(TimedBlock, frozen=True, kw_only=True):
    """A call that was dispatched; ``input`` is the JSON text of its arguments, an object."""

    id: str
    name: str
    input: Arguments | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            ValueError: they are no JSON object.
        """
        TimedBlock.__post_init__(self)
        if self.input is not UNSET and not bytes(self.input).startswith(b"{"):
            raise ValueError("`input` is no object")


class ExecMetadata(Part, frozen=True, kw_only=True):
    """A command ran; presence alone says so."""

    command: str = ""
    exit_code: int = 0
    truncated: bool = False


class ToolResultBlockEvent(TimedBlock, frozen=True, kw_only=True):
    """What a call returned, as the model reads it."""

    call_id: str
    is_error: bool = False
    output: str = ""
    exec: ExecMetadata | UnsetType = UNSET


class AgentCallBlockEvent(Part, frozen=True, kw_only=True):
    """A call to another agent; read, never produced."""

    id: str
    name: str
    task: str


class StatusBlockEvent(Part, frozen=True, kw_only=True):
    """Where a run stands; every field is optional and an unknown ``phase`` means nothing."""

    iteration: Count = 0
    phase: str = ""
    usage: UsageCounts | UnsetType = UNSET
    count: Count = 0
    truncated: bool = False


class WarningBlockEvent(Part, frozen=True, kw_only=True):
    """An advisory of the run; whoever shows it finds the words."""

    kind: Annotated[str, Meta(min_length=1)]
    name: str = ""
    count: Count = 0
    params: tuple[str, ...] = ()
    error: str = ""


class UnknownBlockEvent(Struct, frozen=True, kw_only=True):
    """A block of a kind this release does not know: its id's suffix and its bytes, untouched."""

    kind: str
    raw: bytes


KnownBlock = (
    TextBlockEvent
    | ThinkingBlockEvent
    | TextDeltaBlockEvent
    | ThinkingDeltaBlockEvent
    | PromptBlockEvent
    | ToolCallBlockEvent
    | ToolResultBlockEvent
    | AgentCallBlockEvent
    | StatusBlockEvent
    | WarningBlockEvent
)
EventBlock = KnownBlock | UnknownBlockEvent

BLOCKS: dict[str, type[KnownBlock]] = {
    "text": TextBlockEvent,
    "thinking": ThinkingBlockEvent,
    "text_delta": TextDeltaBlockEvent,
    "thinking_delta": ThinkingDeltaBlockEvent,
    "prompt": PromptBlockEvent,
    "tool_call": ToolCallBlockEvent,
    "tool_result": ToolResultBlockEvent,
    "agent_call": AgentCallBlockEvent,
    "status": StatusBlockEvent,
    "warning": WarningBlockEvent,
}
SUFFIXES: dict[type[KnownBlock], str] = {block: suffix for suffix, block in BLOCKS.items()}


class EventMessage(Header, frozen=True, kw_only=True):
    """One event; the type of its block decides its id."""

    block: EventBlock


def suffix_of(block: EventBlock) -> str:
    """Return the last part of the id under which ``block`` travels."""
    if isinstance(block, UnknownBlockEvent):
        return block.kind
    return SUFFIXES[type(block)]
