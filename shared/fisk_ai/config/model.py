"""The whole of ``agent.yaml`` as one value: every known key, named as in the file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from pydantic import Field, PrivateAttr

from fisk_ai.config.block import Block, Text, ToolFilter, seconds
from fisk_ai.config.document import Document
from fisk_ai.config.expose import A2A, Expose, ExposeAgent, Prompts
from fisk_ai.config.harness import Harness
from fisk_ai.config.llm import Llm
from fisk_ai.config.telemetry import Telemetry
from fisk_ai.config.unplugged import unplugged
from fisk_ai.errors import ConfigError

DEFAULT_MCP_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a configuration came from, and the identity it was given for want of one."""

    source: Path
    directory: Path
    derived_identity: str = ""
    document: Document | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, source: Path) -> _Origin:
        return cls(source, source.absolute().parent)


class RemoteAgent(Block):
    """A peer by name; reserved, read by nothing."""

    name: Text = ""
    alias: Text = ""


class RemoteToolHost(Block):
    """A peer whose tools this agent imports."""

    name: Text = ""
    alias: Text = ""
    include: ToolFilter = ToolFilter.unwritten()
    exclude: ToolFilter = ToolFilter.unwritten()


class McpClient(Block):
    """A server of the Model Context Protocol whose tools this agent imports."""

    name: Text = ""
    alias: Text = ""
    command: Text = ""
    args: list[Text] = Field(default_factory=list[Text])
    url: Text = ""
    env: dict[str, Text] = Field(default_factory=dict)
    headers: dict[str, Text] = Field(default_factory=dict)
    include: ToolFilter = ToolFilter.unwritten()
    exclude: ToolFilter = ToolFilter.unwritten()
    timeout: Text = ""

    @property
    def timeout_s(self) -> float:
        """Seconds its start may take, and its list of tools again."""
        return seconds(self.timeout, DEFAULT_MCP_TIMEOUT_S)


class Config(Block):
    """One agent; obtained from :func:`fisk_ai.config.load`, never changed afterwards."""

    identity: Text = ""
    display_name: Text = ""
    description: Text = ""
    icon: Text = ""
    icon_url: Text = ""
    prompts: list[Text] = Field(default_factory=list[Text])
    application_path: Text = ""
    root_directory: Text = ""
    nats_context: Text = ""
    system_prompt: Text = ""
    include: ToolFilter = ToolFilter.unwritten()
    exclude: ToolFilter = ToolFilter.unwritten()
    global_flags: list[Text] = Field(default_factory=list[Text])
    remote_agents: list[RemoteAgent] = Field(default_factory=list[RemoteAgent])
    remote_tools: list[RemoteToolHost] = Field(default_factory=list[RemoteToolHost])
    mcp_clients: list[McpClient] = Field(default_factory=list[McpClient])
    expose: Expose = Expose.unwritten()
    harness: Harness = Harness.unwritten()
    telemetry: Telemetry = Telemetry.unwritten()
    llm: Llm = Llm.unwritten()

    _origin: _Origin = PrivateAttr(default_factory=lambda: _Origin.of(Path("agent.yaml")))

    @property
    def source(self) -> Path:
        """The file this was read from, as it was named."""
        return self._origin.source

    @property
    def directory(self) -> Path:
        """The absolute folder of the file, which relative paths of the file start from."""
        return self._origin.directory

    @property
    def base(self) -> Path | None:
        """Where programs run and relative directories start, ``None`` for where we are."""
        return Path(self.root_directory) if self.root_directory else None

    @property
    def answers_prompts(self) -> bool:
        """Whether callers may send prompts, so that a model is asked."""
        a2a = self.expose.agent.a2a
        return a2a is not None and a2a.prompts is not None

    @property
    def takes_work(self) -> bool:
        """Whether anything brings work to the loop, so that a model and a session store are needed.

        Prompts of callers, jobs of a queue, turns of a gateway.
        """
        agent = self.expose.agent
        return self.answers_prompts or agent.jobs is not None or agent.slack is not None

    @property
    def imports_tools(self) -> bool:
        """Whether tools of other agents are offered to a model."""
        return bool(self.remote_tools) and self.takes_work

    @property
    def named_identity(self) -> bool:
        """Whether a person chose the identity; a derived one may be shared by unrelated agents."""
        return bool(self.identity) and self.identity != self._origin.derived_identity

    @property
    def credential_names(self) -> tuple[str, ...]:
        """Variables that this file says hold a secret; no child process may inherit them."""
        embeddings = self.harness.knowledge.embeddings  # a secret whether or not it is in use
        name = embeddings.api_key_env.strip() if embeddings is not None else ""
        return (name,) if name else ()

    def with_script(self, path: Path) -> Self:
        """Return a copy whose model is the script at ``path``: no key, no network."""
        options: dict[str, object] = {"script": str(path.absolute())}
        llm = self.llm.model_copy(update={"provider": "scripted", "options": options})
        document = self._origin.document and self._origin.document.without(("llm", "options"))
        return self._copy(replace(self._origin, document=document), {"llm": llm})

    def with_job_workers(self, workers: int) -> Self:
        """Return a copy that runs so many jobs at once; one without jobs stays as it is."""
        agent = self.expose.agent
        if agent.jobs is None:
            return self
        jobs = agent.jobs.model_copy(update={"workers": workers})
        expose = Expose(agent=agent.model_copy(update={"jobs": jobs}))
        return self._copy(self._origin, {"expose": expose})

    def hosted(self, *, operator: bool = True) -> Self:
        """Return a copy that answers one prompt at a time and exposes no more.

        It asks its caller where there is an ``operator``. The identity is kept and counts as
        chosen: a private broker has nobody to confuse it with.
        """
        prompts = Prompts.model_construct(workers=1, elicit=operator)
        agent = ExposeAgent.model_construct(a2a=A2A.model_construct(prompts=prompts))
        origin = replace(self._origin, derived_identity="")
        return self._copy(origin, {"expose": Expose.model_construct(agent=agent)})

    def read_from(self, document: Document) -> Self:
        """Return a copy that knows its file, and where each of its keys is written."""
        return self._copy(replace(_Origin.of(document.source), document=document), {})

    def placed(self, error: ConfigError) -> ConfigError:
        """Return ``error`` with the place of its key, if the file writes that key."""
        document = self._origin.document
        return error if document is None else document.placed(error)

    @contextmanager
    def placing(self) -> Generator[None]:
        """Say where the key is written that is refused within: :meth:`placed` of what is raised."""
        try:
            yield
        except ConfigError as exc:
            raise self.placed(exc) from exc.__cause__

    def derived_as(self, identity: str) -> Self:
        """Return a copy named ``identity`` that knows that nobody chose this name."""
        origin = replace(self._origin, derived_identity=identity)
        return self._copy(origin, {"identity": identity})

    def _copy(self, origin: _Origin, update: dict[str, object]) -> Self:
        copy = self.model_copy(update=update)
        copy._origin = origin  # noqa: SLF001 - our own copy, which nobody else has seen
        return copy


with unplugged():
    Config.model_rebuild()
