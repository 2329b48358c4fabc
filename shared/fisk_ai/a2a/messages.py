"""Every message of the v1 protocol, and the table that finds one by its id.

One id names one shape: nothing else about a message says what it is.
"""

from __future__ import annotations

from fisk_ai.a2a.events import (
    BLOCKS,
    AgentCallBlockEvent,
    EventBlock,
    EventMessage,
    ExecMetadata,
    KnownBlock,
    PromptBlockEvent,
    StatusBlockEvent,
    TextBlockEvent,
    TextDeltaBlockEvent,
    ThinkingBlockEvent,
    ThinkingDeltaBlockEvent,
    ToolCallBlockEvent,
    ToolResultBlockEvent,
    UnknownBlockEvent,
    WarningBlockEvent,
    suffix_of,
)
from fisk_ai.a2a.header import (
    FINAL_HEADER,
    NAMESPACE,
    VALUE_MAX,
    Header,
    HeaderFields,
    Sender,
    reply_header,
    request_header,
)
from fisk_ai.a2a.operating import OpenQuestion, OperatorState, OperatorStatus, WaitingCall
from fisk_ai.a2a.questions import (
    AnyAnswer,
    AnyElicitReply,
    AnyQuestion,
    ElicitReplyApprove,
    ElicitReplyConfirm,
    ElicitReplyInput,
    ElicitReplyNoOperator,
    ElicitReplySelect,
    ElicitRequestApprove,
    ElicitRequestConfirm,
    ElicitRequestInput,
    ElicitRequestSelect,
    ElicitWaiting,
    Question,
    QuestionReply,
)
from fisk_ai.a2a.replies import (
    Ack,
    BehaviorHints,
    DiscoveryReply,
    ErrorTerminal,
    Result,
    Terminal,
    ToolDescriptor,
    UsageCounts,
)
from fisk_ai.a2a.requests import (
    Answer,
    AnyRequest,
    Budget,
    Cancel,
    DiscoveryRequest,
    RequestAnswer,
    RequestPrompt,
    RequestRead,
    RequestResume,
    RunRequest,
    TaskRequest,
)
from fisk_ai.a2a.tool_calls import ToolReply, ToolRequest

EVENT_PREFIX = f"{NAMESPACE}.event."

AnyMessage = (
    AnyRequest
    | Cancel
    | DiscoveryRequest
    | Ack
    | Terminal
    | DiscoveryReply
    | ToolRequest
    | ToolReply
    | EventMessage
    | AnyQuestion
    | AnyElicitReply
    | OperatorStatus
    | OperatorState
)

FixedMessage = (
    AnyRequest
    | Cancel
    | DiscoveryRequest
    | Ack
    | Terminal
    | DiscoveryReply
    | ToolRequest
    | ToolReply
    | AnyQuestion
    | AnyElicitReply
    | OperatorStatus
    | OperatorState
)
"""Every message but an event, whose id depends on its block."""

MESSAGES: dict[str, type[FixedMessage]] = {
    str(message.__struct_config__.tag): message
    for message in (
        RequestPrompt,
        RequestAnswer,
        RequestResume,
        RequestRead,
        Cancel,
        DiscoveryRequest,
        Ack,
        Result,
        ErrorTerminal,
        DiscoveryReply,
        ToolRequest,
        ToolReply,
        ElicitRequestApprove,
        ElicitRequestConfirm,
        ElicitRequestSelect,
        ElicitRequestInput,
        ElicitReplyApprove,
        ElicitReplyConfirm,
        ElicitReplySelect,
        ElicitReplyInput,
        ElicitReplyNoOperator,
        ElicitWaiting,
        OperatorStatus,
        OperatorState,
    )
}
"""Complete ids to shapes; events are found by :data:`BLOCKS`."""

__all__ = [
    "BLOCKS",
    "EVENT_PREFIX",
    "FINAL_HEADER",
    "MESSAGES",
    "NAMESPACE",
    "VALUE_MAX",
    "Ack",
    "AgentCallBlockEvent",
    "Answer",
    "AnyAnswer",
    "AnyElicitReply",
    "AnyMessage",
    "AnyQuestion",
    "AnyRequest",
    "BehaviorHints",
    "Budget",
    "Cancel",
    "DiscoveryReply",
    "DiscoveryRequest",
    "ElicitReplyApprove",
    "ElicitReplyConfirm",
    "ElicitReplyInput",
    "ElicitReplyNoOperator",
    "ElicitReplySelect",
    "ElicitRequestApprove",
    "ElicitRequestConfirm",
    "ElicitRequestInput",
    "ElicitRequestSelect",
    "ElicitWaiting",
    "ErrorTerminal",
    "EventBlock",
    "EventMessage",
    "ExecMetadata",
    "FixedMessage",
    "Header",
    "HeaderFields",
    "KnownBlock",
    "OpenQuestion",
    "OperatorState",
    "OperatorStatus",
    "PromptBlockEvent",
    "Question",
    "QuestionReply",
    "RequestAnswer",
    "RequestPrompt",
    "RequestRead",
    "RequestResume",
    "Result",
    "RunRequest",
    "Sender",
    "StatusBlockEvent",
    "TaskRequest",
    "Terminal",
    "TextBlockEvent",
    "TextDeltaBlockEvent",
    "ThinkingBlockEvent",
    "ThinkingDeltaBlockEvent",
    "ToolCallBlockEvent",
    "ToolDescriptor",
    "ToolResultBlockEvent",
    "UnknownBlockEvent",
    "UsageCounts",
    "WaitingCall",
    "WarningBlockEvent",
    "protocol_of",
    "reply_header",
    "request_header",
]


def protocol_of(message: AnyMessage) -> str:
    """Return the id ``message`` travels under."""
    if isinstance(message, EventMessage):
        return EVENT_PREFIX + suffix_of(message.block)
    return str(message.__struct_config__.tag)
