"""``fisk-ai discover``: the card of an agent, asked for over NATS.

Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import msgspec

from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import DiscoveryReply, ToolDescriptor
from fisk_ai.bus import contexts
from fisk_ai.bus.connection import connect
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.cli.arguments import CommandParser
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.render.tables import Document, within
from fisk_ai.render.width import terminal_width
from fisk_ai.text.sanitise import for_terminal

TEXT_LIMIT = 1_000
"""Code points of one text of a card; its agent chose it."""

SENDER = "fisk-ai"

_TIMEOUT_S = 10.0
_HEADER = ("Tool", "Behaviour", "Description")
_LEAST = {1: 8, 2: 12}


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai discover`` with its arguments and return the exit code."""
    parser = CommandParser("fisk-ai discover", "Show the card of another agent.")
    parser.add_argument("identity", help="the agent's name")
    parser.value("--nats-context", "NAME", "ask over this NATS context")
    parser.switch("--json", "print the card as JSON for other programs")
    arguments = parser.parse_args(argv)
    options = contexts.from_environment(arguments.nats_context or "", "discover", os.environ)
    card = run_one_shot(_card(options, arguments.identity))
    print(_json(card) if arguments.json else _page(card))
    return 0


async def _card(options: ConnectOptions, identity: str) -> DiscoveryReply:
    connection = await connect(options)
    try:
        return await AgentClient(connection, identity, SENDER).card(_TIMEOUT_S)
    finally:
        await connection.drain()


def _json(card: DiscoveryReply) -> str:
    """Return the card's own fields, in ASCII, so that nothing acts on a terminal."""
    members: dict[str, object] = msgspec.to_builtins(card)
    header = {"id", "request", "conversation", "sequence", "time", "sender", "recipient"}
    shown = {name: value for name, value in members.items() if name not in {*header, "protocol"}}
    return json.dumps(shown)


def _page(card: DiscoveryReply) -> str:
    page = Document(f"Agent {_shown(card.name)}", terminal_width())
    page.item("Version", _shown(card.version))
    page.optional("Name", _shown(card.display_name))
    page.optional("Description", _shown(card.description))
    page.optional("Model", _shown(card.model))
    page.item("Prompts", "yes" if card.model else "no")
    page.item("Protocols", _shown(", ".join(card.protocols)))
    page.section("Notes", [_shown(note) for note in card.notes])
    page.section("Try", [_shown(prompt) for prompt in card.prompts])
    if not card.tools:
        return page.text()
    rows = [_row(tool) for tool in card.tools]
    table = within(_HEADER, rows, width=terminal_width(), least=_LEAST, whole=1)
    return f"{page.text()}\n\n{table}"


def _row(tool: ToolDescriptor) -> tuple[str, ...]:
    hints: dict[str, bool] = msgspec.to_builtins(tool.behavior) if tool.behavior else {}
    said = (f"{'' if hint else 'not '}{name.replace('_', ' ')}" for name, hint in hints.items())
    return _shown(tool.name), ", ".join(said), _shown(tool.description)


def _shown(text: str) -> str:
    return for_terminal(text, TEXT_LIMIT)
