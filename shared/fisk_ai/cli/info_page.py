"""What ``fisk-ai info`` prints, section by section, and what it warns of.

What a run would refuse and what tools were tagged wrongly goes to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping

from fisk_ai.cli import info_data, info_refusals, info_stores, info_tools
from fisk_ai.cli.info_tools import Offer
from fisk_ai.config import Config
from fisk_ai.config.expose import Expose
from fisk_ai.errors import FiskError
from fisk_ai.llm import provider as providers
from fisk_ai.render import warnings
from fisk_ai.render.markdown import styled, wants_style
from fisk_ai.render.tables import Document
from fisk_ai.render.width import columns_of, terminal_width
from fisk_ai.text.sanitise import for_display, for_terminal
from fisk_ai.toolkit.fisk.application import LoadedApplication
from fisk_ai.toolkit.toolset import TOOL_SEARCH_THRESHOLD

NAME_LIMIT = 128
PATH_LIMIT = 400
"""Code points of one text; the application chose it."""

_SERVED_ALONE = "for a served agent; a run has its own in place of it, its durations included"
_THINKING: Mapping[bool | None, str] = {
    None: "provider default",
    True: "enabled",
    False: "disabled",
}


def show(config: Config, application: LoadedApplication, *, no_color: bool) -> None:
    """Print all sections, and warnings beside them."""
    offered = info_tools.offer(config, application)
    _warn(config, application, offered)
    sections = _sections(config, application, offered, no_color=no_color)
    print("\n\n".join(filter(None, sections)))


def _warn(config: Config, application: LoadedApplication, offered: Offer) -> None:
    for advisory in application.advisories:
        print(f"warning: {warnings.sentence(advisory)}", file=sys.stderr)
    for fault in info_refusals.refusals(config, offered):
        print(f"warning: a run would be refused: {fault}", file=sys.stderr)
    context = _context_fault(config)
    if context:
        print(f"warning: a served agent would be refused: {context}", file=sys.stderr)
    for caution in info_tools.cautions(config):
        print(f"warning: {caution}", file=sys.stderr)


def _context_fault(config: Config) -> str:
    """Return why a served agent could not use its context; whether its broker is there is open."""
    name = config.nats_context
    if not name:
        return ""
    from fisk_ai.bus import contexts  # noqa: PLC0415 - for agents with a context alone

    try:
        if contexts.exists(name, os.environ) or not os.environ.get("FISK_AI_NATS_URL"):
            contexts.load(name, os.environ)
    except FiskError as exc:
        return for_terminal(str(exc), PATH_LIMIT)
    return ""


def _sections(
    config: Config, application: LoadedApplication, offered: Offer, *, no_color: bool
) -> Iterable[str]:
    """Yield every section in its order; one that has nothing to say is empty."""
    yield _agent(config, application)
    if config.llm.model:
        yield _model(config, offered.count)
    yield info_stores.memory(config)
    if config.llm.model:
        yield info_stores.sessions(config)
    yield info_data.pii(config)
    yield info_data.telemetry(config, os.environ)
    yield info_tools.tools(config, offered)
    yield info_tools.remote_hosts(config)
    yield info_tools.mcp_clients(config)
    yield info_tools.global_flags(application)
    yield _prompt(config, no_color=no_color)


def _agent(config: Config, application: LoadedApplication) -> str:
    page = Document("Agent", terminal_width())
    derived = "" if config.named_identity else " (derived; set identity to choose one)"
    page.item("Identity", f"{for_terminal(config.identity, NAME_LIMIT) or 'none'}{derived}")
    page.optional("NATS context", for_terminal(config.nats_context, NAME_LIMIT))
    if config.expose != Expose.unwritten():
        page.item("Expose", _SERVED_ALONE)
    if application.program is not None:
        named = f"{application.name} {application.version}".strip()
        page.item("Application", for_terminal(str(application.program), PATH_LIMIT))
        page.optional("Calls itself", for_terminal(named, NAME_LIMIT))
    return page.text()


def _model(config: Config, tool_count: int) -> str:
    page = Document("Model", terminal_width())
    page.item("Model", for_terminal(config.llm.model, NAME_LIMIT))
    page.item("Provider", for_terminal(config.llm.provider, NAME_LIMIT))
    page.item("Thinking", _THINKING[config.llm.thinking_enabled])
    page.optional("Effort", config.llm.reasoning_effort)
    page.item("Tool search", _tool_search(config, tool_count))
    return page.text()


def _tool_search(config: Config, tool_count: int) -> str:
    if config.llm.no_tool_search:
        many = tool_count >= TOOL_SEARCH_THRESHOLD
        cost = f"; all {tool_count} tools are sent with every request" if many else ""
        return f"disabled (no_tool_search){cost}"
    name = for_terminal(config.llm.provider, NAME_LIMIT)
    declared = providers.capabilities(config.llm.provider)
    if declared is None:
        return f'unknown (provider "{name}" is not known)'
    if not declared.supports_tool_search:
        return f'unavailable (provider "{name}" does not support it)'
    return f"enabled (used when {TOOL_SEARCH_THRESHOLD} or more tools are available)"


def _prompt(config: Config, *, no_color: bool) -> str:
    if not config.system_prompt.strip():
        return "No system_prompt defined"
    prompt = for_display(config.system_prompt).strip("\n")
    if wants_style(sys.stdout, no_color=no_color):
        prompt = styled(prompt, width=columns_of(sys.stdout))
    return f"Prompt:\n\n{prompt}"
