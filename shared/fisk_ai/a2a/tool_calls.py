"""One tool of an agent, called by itself: the request and the terminal of its reply set."""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from fisk_ai.a2a.events import ExecMetadata
from fisk_ai.a2a.header import NAMESPACE, Header


class ToolRequest(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.tool.request"):
    """Call one tool of an agent; ``input`` is the JSON object of its arguments."""

    name: str
    input: Raw | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Check what a type cannot say.

        Raises:
            ValueError: as of every header, or an input that is no object.
        """
        super().__post_init__()
        if self.arguments[:1] != b"{":
            raise ValueError("`input` is no object")

    @property
    def arguments(self) -> bytes:
        """The arguments as they were written; an absent ``input`` is ``{}``."""
        return b"{}" if self.input is UNSET else bytes(self.input).strip()


class ToolReply(Header, frozen=True, kw_only=True, tag=f"{NAMESPACE}.tool.reply"):
    """The terminal of a tool call: its output, or with ``is_error`` why there is none.

    The presence of ``exec`` says that a command ran; its exit status is no error. ``code`` is
    ``capacity`` where the call was not taken and may be tried again.
    """

    is_error: bool = False
    output: str = ""
    exec: ExecMetadata | UnsetType = UNSET
    code: str = ""
