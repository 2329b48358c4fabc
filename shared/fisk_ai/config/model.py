"""The whole of ``agent.yaml`` as one value: every known key, named as in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import PrivateAttr

from fisk_ai.config.block import Block, Text, ToolFilter
from fisk_ai.config.expose import A2A, Expose, ExposeAgent, Prompts
from fisk_ai.config.harness import Harness
from fisk_ai.config.llm import Llm
from fisk_ai.config.telemetry import Telemetry


class RemoteAgent(Block):
    """A peer by name; reserved, read by nothing."""

    name: Text = ""
    alias: Text = ""


class RemoteToolHost(Block):
    """A peer whose tools this agent imports."""

    name: Text = ""
    alias: Text = ""
    include: ToolFilter = ToolFilter()
    exclude: ToolFilter = ToolFilter()


class McpClient(Block):
    """A server of the Model Context Protocol whose tools this agent imports."""

    name: Text = ""
    alias: Text = ""
    command: Text = ""
    args: list[Text] = []
    url: Text = ""
    env: dict[str, Text] = {}
    headers: dict[str, Text] = {}
    include: ToolFilter = ToolFilter()
    exclude: ToolFilter = ToolFilter()
    timeout: Text = ""


class Config(Block):
    """One agent; obtained from :func:`fisk_ai.config.load`, never changed afterwards."""

    identity: Text = ""
    display_name: Text = ""
    description: Text = ""
    icon: Text = ""
    icon_url: Text = ""
    prompts: list[Text] = []
    application_path: Text = ""
    root_directory: Text = ""
    nats_context: Text = ""
    system_prompt: Text = ""
    include: ToolFilter = ToolFilter()
    exclude: ToolFilter = ToolFilter()
    global_flags: list[Text] = []
    remote_agents: list[RemoteAgent] = []
    remote_tools: list[RemoteToolHost] = []
    mcp_clients: list[McpClient] = []
    expose: Expose = Expose()
    harness: Harness = Harness()
    telemetry: Telemetry = Telemetry()
    llm: Llm = Llm()

    _source: Path = PrivateAttr(default=Path("agent.yaml"))
    _directory: Path = PrivateAttr(default_factory=Path.cwd)
    _derived_identity: str = PrivateAttr(default="")

    @property
    def source(self) -> Path:
        """The file this was read from, as it was named."""
        return self._source

    @property
    def directory(self) -> Path:
        """The absolute folder of the file, which relative paths of the file start from."""
        return self._directory

    @property
    def named_identity(self) -> bool:
        """Whether a person chose the identity; a derived one may be shared by unrelated agents."""
        return bool(self.identity) and self.identity != self._derived_identity

    def with_script(self, path: Path) -> Self:
        """Return a copy whose model is the script at ``path``, which needs neither key nor network."""
        options: dict[str, object] = {"script": str(path.absolute())}
        llm = self.llm.model_copy(update={"provider": "scripted", "options": options})
        return self.model_copy(update={"llm": llm})

    def hosted(self) -> Self:
        """Return a copy that answers one prompt at a time, asks its caller, and exposes no more.

        The identity is kept and counts as chosen: a private broker has nobody to confuse it with.
        """
        agent = ExposeAgent(a2a=A2A(prompts=Prompts(workers=1, elicit=True)))
        copy = self.model_copy(update={"expose": Expose(agent=agent)})
        copy._derived_identity = ""
        return copy

    def read_from(self, source: Path) -> Self:
        """Return a copy that knows its file."""
        copy = self.model_copy()
        copy._source = source
        copy._directory = source.absolute().parent
        return copy

    def with_derived_identity(self, identity: str) -> Self:
        """Return a copy named ``identity`` and aware that nobody chose that name."""
        copy = self.model_copy(update={"identity": identity})
        copy._derived_identity = identity
        return copy

    @property
    def identity_is_open(self) -> bool:
        """Whether the identity may be derived (again): absent, or what was derived last time."""
        return not self.named_identity
