"""The command tree: every name the program knows, and what runs it.

A command is a module imported only when it is called. Names of later releases are known, so that
they are refused as such and never taken for a typing error.
"""

from __future__ import annotations

from dataclasses import dataclass

from fisk_ai.cli.arguments import BadArgumentsError, shown_word

NOT_BUILT = "[not built yet]"
"""Marks what is of a later release, in every list of commands or flags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One entry of the tree; an empty ``module`` says that it is not built yet."""

    name: str
    help: str
    module: str = ""
    aliases: tuple[str, ...] = ()


COMMANDS = (
    Command(name="run", help="Talk to the agent", module="fisk_ai.cli.run"),
    Command(
        name="session",
        help="List, show, answer and remove stored sessions",
        module="fisk_ai.cli.session",
    ),
    Command(name="info", help="Show what a configuration gives a model", module="fisk_ai.cli.info"),
    Command(
        name="completion",
        help="Print what lets a shell complete commands",
        module="fisk_ai.cli.completion",
    ),
    Command(name="knowledge", help="Index and search documents", aliases=("rag", "k")),
    Command(name="mcp", help="Serve the tools over MCP"),
    Command(name="serve", help="Serve the agent to others", module="fisk_ai.cli.serve"),
    Command(
        name="discover",
        help="Show the card of another agent",
        module="fisk_ai.cli.discover",
    ),
    Command(
        name="provision",
        help="Print or apply the storage an agent needs",
        module="fisk_ai.cli.provision",
    ),
    Command(
        name="job",
        help="Put prompts into a work queue, and see what became of them",
        module="fisk_ai.cli.job",
    ),
    Command(
        name="turn",
        help="Inspect, retry and drop turns that were set aside",
        module="fisk_ai.cli.turn_command",
    ),
)


def find(commands: tuple[Command, ...], word: str) -> Command | None:
    """Return the command called ``word`` by name or alias."""
    matches = (item for item in commands if word == item.name or word in item.aliases)
    return next(matches, None)


def listing(commands: tuple[Command, ...]) -> str:
    """Return one line per command: name, aliases, help."""
    lines: list[str] = []
    for item in commands:
        aliases = f" ({', '.join(item.aliases)})" if item.aliases else ""
        pending = "" if item.module else f" {NOT_BUILT}"
        lines.append(f"  {item.name + aliases:<20} {item.help}{pending}")
    return "\n".join(lines)


def subcommand_required(
    commands: tuple[Command, ...], word: str | None, *, prog: str
) -> BadArgumentsError:
    """Return the refusal of a missing or unknown subcommand of ``prog``."""
    shown = shown_word(word or "")
    given = repr(shown) if shown else "what was given"
    found = "none was given" if word is None else f"{given} is not one of them"
    message = f"a subcommand from the list below is required, {found}"
    return BadArgumentsError(message, usage=f"{prog}:\n{listing(commands)}\n")


def not_built(command: Command, commands: tuple[Command, ...], *, prog: str) -> str:
    """Return the sentence that refuses a command of a later release."""
    built = ", ".join(item.name for item in commands if item.module)
    return f"{prog} {command.name} is not built yet; this release has: {built}"
