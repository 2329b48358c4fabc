"""``harness``: what surrounds the model while it works."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from fisk_ai.config.block import Block, Text, Whole, seconds

DEFAULT_TOOL_TIMEOUT_S: Final = 300.0
DEFAULT_EMBEDDINGS_TIMEOUT_S: Final = 30.0
DEFAULT_BACKEND: Final = "file"
DEFAULT_PII_MODE: Final = "redact"
PII_OFF: Final = "off"
PII_MODES: Final = (DEFAULT_PII_MODE, "reject", PII_OFF)


class HumanInTheLoop(Block):
    """Whether the model may put questions to a person."""

    enabled: bool = False


class BuiltinTool(Block):
    """One built-in tool offered to the model."""

    name: Text = ""
    confirm: bool = False
    options: dict[str, object] = Field(default_factory=dict)


class Stored(Block):
    """What is kept by a backend; ``options`` belong to it."""

    backend: Text = DEFAULT_BACKEND
    options: dict[str, object] = Field(default_factory=dict)

    @property
    def declared(self) -> bool:
        """Whether the file names the backend, or leaves it to the default."""
        return "backend" in self.model_fields_set


class Memory(Stored):
    """Notes the agent keeps between conversations."""

    enabled: bool = False
    no_index: bool = False
    read_only: bool = False


class Citation(Block):
    """A rule that turns a document's path into the link a person can follow."""

    pattern: Text = ""
    replace: Text = ""


class Embeddings(Block):
    """The vector tier of the knowledge store; its presence enables it."""

    base_url: Text = ""
    model: Text = ""
    api_key_env: Text = ""
    api_key_file: Text = ""
    timeout: Text = ""
    query_prefix: Text = ""
    document_prefix: Text = ""

    @property
    def timeout_s(self) -> float:
        """Seconds one embeddings request may take."""
        return seconds(self.timeout, DEFAULT_EMBEDDINGS_TIMEOUT_S)


class Knowledge(Block):
    """Documents the agent may search."""

    enabled: bool = False
    paths: list[Text] = Field(default_factory=list[Text])
    directory: Text = ""
    top_k: Whole = 5
    max_injected_tokens: Whole = 6000
    expand_to_section: bool = False
    read_tool: bool = False
    citations: list[Citation] = Field(default_factory=list[Citation])
    embeddings: Embeddings | None = None


class Sessions(Stored):
    """Where conversations are journaled."""


class Pii(Block):
    """What happens to personal data on its way to the model: ``redact``, ``reject`` or ``off``."""

    mode: Text = DEFAULT_PII_MODE


class Harness(Block):
    """The loop's own settings; durations are read through their ``_s`` twins."""

    human_in_the_loop: HumanInTheLoop = HumanInTheLoop.unwritten()
    confirm_tags: list[Text] = Field(default_factory=list[Text])
    tool_timeout: Text = ""
    no_tui: bool = False
    no_bell: bool = False
    tools: list[BuiltinTool] = Field(default_factory=list[BuiltinTool])
    memory: Memory = Memory.unwritten()
    knowledge: Knowledge = Knowledge.unwritten()
    sessions: Sessions = Sessions.unwritten()
    pii: Pii = Pii.unwritten()

    @property
    def tool_timeout_s(self) -> float:
        """Seconds one tool call may take; ``0.0`` means that nothing bounds it."""
        return seconds(self.tool_timeout, DEFAULT_TOOL_TIMEOUT_S)
