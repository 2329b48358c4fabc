"""``expose.agent``: who may bring work to the agent, and over what."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from fisk_ai.config.block import Block, Text, ToolFilter, Whole, seconds

DEFAULT_REQUEST_TIMEOUT_S: Final = 120.0
DEFAULT_ELICIT_MAX_S: Final = 900.0
DEFAULT_SERVED_TOOL_TIMEOUT_S: Final = 30.0
DEFAULT_ANSWER_GRACE_S: Final = 30.0


class Prompts(Block):
    """Answers prompts with the whole loop; its presence enables it."""

    workers: Whole = 1
    elicit: bool = False
    elicit_max: Text = ""
    approve: Text = "caller"
    approvals: Text = "deny"

    @property
    def elicit_max_s(self) -> float:
        """Seconds a question waits in all, however often its reader says they are thinking."""
        return seconds(self.elicit_max, DEFAULT_ELICIT_MAX_S)


class A2A(Block):
    """Agent to agent: prompts, tools, and the gap this agent allows a peer."""

    serve_tools: bool = False
    prompts: Prompts | None = None
    max_concurrent_tools: Whole = 0
    tool_timeout: Text = ""
    request_timeout: Text = ""

    @property
    def tool_timeout_s(self) -> float:
        """Seconds one served call may take; zero is the default, for a peer waits."""
        return seconds(self.tool_timeout, 0.0) or DEFAULT_SERVED_TOOL_TIMEOUT_S

    @property
    def request_timeout_s(self) -> float:
        """Seconds between two messages of a peer before it counts as gone."""
        return seconds(self.request_timeout, DEFAULT_REQUEST_TIMEOUT_S)


class Mcp(Block):
    """Serves tools over the Model Context Protocol; its presence enables it."""

    port: Whole = 8080
    address: Text = "127.0.0.1"
    instructions: Text = ""
    confirm_over_mcp: Text = "always"
    max_concurrent_tools: Whole = 2
    tool_timeout: Text = ""
    builtins: list[Text] = Field(default_factory=list[Text])

    @property
    def tool_timeout_s(self) -> float:
        """Seconds one served call may take; zero is the default, for a client waits."""
        return seconds(self.tool_timeout, 0.0) or DEFAULT_SERVED_TOOL_TIMEOUT_S


class Jobs(Block):
    """Takes work from a job queue; its presence enables it."""

    queue: Text = "FISK_AI"
    task_type: Text = "fisk-ai:run"
    workers: Whole = 1
    nats_context: Text = ""
    max_payload: Whole = 524_288
    approvals: Text = "deny"


class Slack(Block):
    """Answers threads in Slack; its presence enables it."""

    workers: Whole = 5
    context_lines: Whole = 20
    no_progress: bool = False
    answer_grace: Text = ""
    max_waiting: Whole = 0
    max_coalesced: Whole = 5
    approvers: list[Text] | None = None
    events: Text = "status"

    @property
    def answer_grace_s(self) -> float:
        """Seconds a question waits for the person who asked before it is deferred."""
        return seconds(self.answer_grace, DEFAULT_ANSWER_GRACE_S)


class Web(Block):
    """Answers a browser; its presence enables it."""

    listen: Text = "127.0.0.1:8080"
    base_path: Text = "/fisk/v1"
    origins: list[Text] = Field(default_factory=list[Text])


class ServedTools(Block):
    """Narrows the tools that leave this agent; it can only remove."""

    include: ToolFilter = ToolFilter.unwritten()
    exclude: ToolFilter = ToolFilter.unwritten()


class ExposeAgent(Block):
    """The endpoints of one agent; an absent block is a closed door."""

    tools: ServedTools = ServedTools.unwritten()
    a2a: A2A | None = None
    mcp: Mcp | None = None
    jobs: Jobs | None = None
    slack: Slack | None = None
    web: Web | None = None


class Expose(Block):
    """Holds ``agent`` and nothing else."""

    agent: ExposeAgent = ExposeAgent.unwritten()
