"""What ``fisk-ai info`` says of what a model may call, and of what it would import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.config import Config
from fisk_ai.config.model import McpClient
from fisk_ai.config.references import redact_url
from fisk_ai.config.standing import reserved_wishes
from fisk_ai.errors import ConfigError, FiskError
from fisk_ai.render.tables import Document, within
from fisk_ai.render.width import terminal_width
from fisk_ai.text import words
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit import toolset
from fisk_ai.toolkit.builtin import assemble
from fisk_ai.toolkit.builtin.assemble import Builtins
from fisk_ai.toolkit.contract import Confirmable, Tagged, Tool
from fisk_ai.toolkit.fisk.application import LoadedApplication
from fisk_ai.toolkit.fisk.globals import GlobalFlag

NAME_LIMIT = 128
WORDS_LIMIT = 1_000
ADDRESS_LIMIT = 400
"""Code points of one text, against what an application or a configuration might hold; what is too
wide for a terminal is cut by the table, and in a pipe nothing is."""

_LEAST = {3: 12, 4: 8}
"""What may be left of a description and of tags, which give way on a narrow terminal."""

_UNASKED = {"auto": "for every client that cannot be asked", "never": "for every client"}
_UNSEEN = "info does not see the tools of a worker of your own (--worker FILE)"
_UNBUILT = "not built yet, so nothing was asked and no tool is imported"


@dataclass(frozen=True, slots=True)
class Offer:
    """Every tool of a run; ``fault`` says why a run would not get that far."""

    application: tuple[Tool, ...]
    builtins: tuple[Tool, ...]
    fault: FiskError | None = None

    @property
    def count(self) -> int:
        """How many tools the model is given."""
        return len(self.application) + len(self.builtins)


def offer(config: Config, application: LoadedApplication) -> Offer:
    """Return the tools of a run; nothing is opened for them."""
    builtins, fault = Builtins(), None
    try:
        builtins = assemble.build(config, memory=None)
        assembled, _ = toolset.build(
            toolset.Sources(app_tools=application.tools, builtins=builtins),
            supports_tool_search=False,
            allow_tool_search=False,
        )
        fault = _lack(config, assembled.tools)
    except FiskError as exc:
        fault = exc
    return Offer(tuple(application.tools), builtins.tools, fault)


def _lack(config: Config, tools: Sequence[Tool]) -> FiskError | None:
    """Return why a run would be refused for want of tools; a worker of one's own may bring some."""
    if config.remote_tools:
        return None  # only a worker asks peers what they lend
    try:
        toolset.require_tools(
            tools, application_path=config.application_path, source=str(config.source)
        )
    except ConfigError as exc:
        return ConfigError(f"{exc}; {_UNSEEN}", key=exc.key)
    return None


def tools(config: Config, offered: Offer) -> str:
    """Return the table of tools."""
    if not offered.count:
        others = " but those of other agents" if config.remote_tools else ""
        return f"Tools:\n\nThe model is given no tools{others}"
    tags = config.harness.confirm_tags
    rows = [_tool(tool, "local", tags) for tool in offered.application]
    rows += [_tool(tool, "built-in", tags) for tool in offered.builtins]
    header = ("Tool", "Source", "Confirm", "Description", "Tags")
    return f"Tools:\n\n{within(header, rows, width=terminal_width(), least=_LEAST)}"


def remote_hosts(config: Config) -> str:
    """Return the peers whose tools the agent would import, empty without any."""
    if not config.remote_tools:
        return ""
    page = Document("Remote tool hosts", terminal_width())
    for host in config.remote_tools:
        alias = _named(host.alias or host.name)
        page.item(
            _named(host.name),
            f'asked when the agent starts; where two tools share a name, "{alias}_" leads it',
        )
    return page.text()


def cautions(config: Config) -> Iterator[str]:
    """Yield a warning for each choice that does more, or less, than it seems to."""
    yield from reserved_wishes(config)
    for host in config.remote_tools:
        if host.include.tags:
            yield (
                f'the include.tags of the remote_tools host "{_named(host.name)}" is ignored,'
                " because peers tell no tags; name tools instead"
            )
    yield from _missing_roots(config)
    mcp = config.expose.agent.mcp
    if mcp is not None and mcp.confirm_over_mcp in _UNASKED:
        when = _UNASKED[mcp.confirm_over_mcp]
        yield (
            f"expose.agent.mcp.confirm_over_mcp is {mcp.confirm_over_mcp}, so a gated tool runs"
            f" unasked {when}; always asks"
        )


def _missing_roots(config: Config) -> Iterator[str]:
    """A directory may be made later, so a run does not refuse one that is not there."""
    for number, entry in enumerate(config.harness.tools):
        root = entry.options.get("root")
        if isinstance(root, str) and not Path(config.root_directory, root).is_dir():
            yield (
                f'harness.tools[{number}].options.root "{_named(root)}" is no directory, so every'
                f" {entry.name} call will fail; create it"
            )


def mcp_clients(config: Config) -> str:
    """Return the servers whose tools the agent would import, empty without any."""
    if not config.mcp_clients:
        return ""
    page = Document("MCP clients", terminal_width())
    for client in config.mcp_clients:
        page.item(_named(client.name), f"{_transport(client)}: {_UNBUILT}")
    return page.text()


def global_flags(application: LoadedApplication) -> str:
    """Return what of the application's global flags a model may set, empty without any."""
    if not application.available_flags:
        return ""
    lines = (_flag(flag) for flag in application.available_flags)
    return "\n".join(["Exposable application global flags:", "", *lines])


def _tool(tool: Tool, source: str, confirm_tags: Sequence[str]) -> tuple[str, ...]:
    gated = not isinstance(tool, Confirmable) or tool.needs_confirm(confirm_tags)
    tags = tool.tags() if isinstance(tool, Tagged) else ()
    return (
        _named(tool.name),
        source,
        "Yes" if gated else "",
        for_terminal(tool.description, WORDS_LIMIT),
        for_terminal(", ".join(map(words.shown, tags)), WORDS_LIMIT),
    )


def _transport(client: McpClient) -> str:
    if client.url:
        return f"http {for_terminal(redact_url(client.url), ADDRESS_LIMIT)}"
    command = " ".join(redact_url(word) for word in (client.command, *client.args))
    return f"stdio {for_terminal(command, ADDRESS_LIMIT)}"


def _flag(flag: GlobalFlag) -> str:
    marks = ("exposed",) * flag.offered + ("required",) * flag.required
    name = _named(flag.name) + (f" [{', '.join(marks)}]" if marks else "")
    said = for_terminal(flag.help, WORDS_LIMIT)
    return f"  {name}: {said}" if said else f"  {name}"


def _named(text: str) -> str:
    return for_terminal(text, NAME_LIMIT)
