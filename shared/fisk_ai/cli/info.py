"""``fisk-ai info``: what a configuration gives a model, without asking one.

The wrapped application is introspected; nothing else is contacted. Advisories go to standard
error. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fisk_ai.cli import provider_check
from fisk_ai.cli.arguments import CommandParser
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.cli.run_flags import DEFAULT_CONFIG
from fisk_ai.cli.stores import configured_directory
from fisk_ai.config import Config, Mode, load
from fisk_ai.llm import provider as providers
from fisk_ai.render import warnings
from fisk_ai.render.markdown import styled, wants_style
from fisk_ai.render.tables import Document, table
from fisk_ai.sessions.places import root_directory
from fisk_ai.text.sanitise import for_display, for_terminal
from fisk_ai.toolkit import fisk
from fisk_ai.toolkit.contract import Confirmable, Tagged, Tool
from fisk_ai.toolkit.fisk import GlobalFlag, LoadedApplication
from fisk_ai.toolkit.toolset import TOOL_SEARCH_THRESHOLD

NAME_LIMIT = 128
PATH_LIMIT = 400
DESCRIPTION_LIMIT = 50
TAGS_LIMIT = 80
HELP_LIMIT = 120
"""Code points of one text; the application chose it."""

_THINKING: Mapping[bool | None, str] = {
    None: "provider default",
    True: "enabled",
    False: "disabled",
}


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai info`` with its arguments and return the exit code."""
    parser = CommandParser("fisk-ai info", "Show what a configuration gives a model.")
    parser.value("--config", "FILE", f"the agent's configuration (default {DEFAULT_CONFIG})")
    parser.value("--root-dir", "DIR", "replace the configuration's root_directory")
    parser.switch("--no-color", "print raw text (NO_COLOR)")
    arguments = parser.parse_args(argv)
    config = load(Path(arguments.config or DEFAULT_CONFIG), Mode.LENIENT)
    base = root_directory(arguments.root_dir, config.root_directory)
    if base is not None:
        config = config.model_copy(update={"root_directory": str(base)})
    application = run_one_shot(fisk.load(config, environ=os.environ))
    for advisory in application.advisories:
        print(f"warning: {warnings.sentence(advisory)}", file=sys.stderr)
    refused = provider_check.refusal(config)
    if refused:
        print(f"warning: a run would be refused: {refused}", file=sys.stderr)
    no_color = bool(arguments.no_color or os.environ.get("NO_COLOR"))
    print("\n\n".join(_sections(config, application, no_color=no_color)))
    return 0


def _sections(config: Config, application: LoadedApplication, *, no_color: bool) -> Iterable[str]:
    yield _agent(config, application)
    if config.llm.model:
        yield _model(config)
        yield _sessions(config)
    yield _pii()
    yield _tools(config, application)
    if application.available_flags:
        yield _global_flags(application)
    yield _prompt(config, no_color=no_color)


def _agent(config: Config, application: LoadedApplication) -> str:
    page = Document("Agent")
    derived = "" if config.named_identity else " (derived; set identity to choose one)"
    page.item("Identity", f"{for_terminal(config.identity, NAME_LIMIT) or 'none'}{derived}")
    if application.program is not None:
        named = f"{application.name} {application.version}".strip()
        page.item("Application", for_terminal(str(application.program), PATH_LIMIT))
        page.optional("Calls itself", for_terminal(named, NAME_LIMIT))
    return page.text()


def _model(config: Config) -> str:
    page = Document("Model")
    page.item("Model", for_terminal(config.llm.model, NAME_LIMIT))
    page.item("Provider", for_terminal(config.llm.provider, NAME_LIMIT))
    page.item("Thinking", _THINKING[config.llm.thinking_enabled])
    page.item("Tool search", _tool_search(config))
    return page.text()


def _tool_search(config: Config) -> str:
    if config.llm.no_tool_search:
        return "disabled (no_tool_search)"
    name = config.llm.provider
    if name not in providers.names():
        return f'unknown (provider "{for_terminal(name, NAME_LIMIT)}" is not known)'
    declared = providers.capabilities(name)
    if declared is None or not declared.supports_tool_search:
        return f'unavailable (provider "{name}" does not support it)'
    return f"enabled (used from {TOOL_SEARCH_THRESHOLD} tools)"


def _sessions(config: Config) -> str:
    page = Document("Sessions")
    declared = config.harness.sessions
    page.item("Backend", for_terminal(declared.backend, NAME_LIMIT))
    directory = configured_directory(config, root_dir=None, environ=os.environ)
    if directory is not None:
        page.item("Directory", for_terminal(str(directory.absolute()), PATH_LIMIT))
    return page.text()


def _pii() -> str:
    page = Document("PII scanning")
    page.item("Mode", "off")
    page.item("Scanned", "nothing")
    return page.text()


def _tools(config: Config, application: LoadedApplication) -> str:
    if not application.tools:
        return "Tools:\n\nThe model is given no tools"
    tags = config.harness.confirm_tags
    rows = [_tool(tool, tags) for tool in application.tools]
    header = ("Tool", "Source", "Confirm", "Description", "Tags")
    return f"Tools:\n\n{table(header, rows)}"


def _tool(tool: Tool, confirm_tags: Sequence[str]) -> tuple[str, ...]:
    gated = not isinstance(tool, Confirmable) or tool.needs_confirm(confirm_tags)
    tags = tool.tags() if isinstance(tool, Tagged) else ()
    return (
        for_terminal(tool.name, NAME_LIMIT),
        "local",
        "Yes" if gated else "",
        for_terminal(tool.description, DESCRIPTION_LIMIT),
        for_terminal(", ".join(tags), TAGS_LIMIT),
    )


def _global_flags(application: LoadedApplication) -> str:
    lines = (_flag(flag) for flag in application.available_flags)
    return "\n".join(["Exposable application global flags:", "", *lines])


def _flag(flag: GlobalFlag) -> str:
    marks = ("exposed",) * flag.offered + ("required",) * flag.required
    name = for_terminal(flag.name, NAME_LIMIT) + (f" [{', '.join(marks)}]" if marks else "")
    words = for_terminal(flag.help, HELP_LIMIT)
    return f"  {name}: {words}" if words else f"  {name}"


def _prompt(config: Config, *, no_color: bool) -> str:
    if not config.system_prompt.strip():
        return "No system_prompt defined"
    prompt = for_display(config.system_prompt).strip("\n")
    if wants_style(sys.stdout, no_color=no_color):
        prompt = styled(prompt, width=shutil.get_terminal_size().columns)
    return f"Prompt:\n\n{prompt}"
