"""Loading the wrapped application: found, asked, selected, and turned into tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import SetupError
from fisk_ai.toolkit import tags
from fisk_ai.toolkit.contract import Advisory, Tool
from fisk_ai.toolkit.environment import without_configured
from fisk_ai.toolkit.fisk import globals as global_flags
from fisk_ai.toolkit.fisk.command import CommandTool, Host
from fisk_ai.toolkit.fisk.document import Application, Command, Flag
from fisk_ai.toolkit.fisk.globals import GlobalFlag
from fisk_ai.toolkit.fisk.introspection import TIMEOUT_S, Introspection, begun
from fisk_ai.toolkit.fisk.tree import Leaf, check_names, idle_group_tags, leaves
from fisk_ai.toolkit.selection import select

if TYPE_CHECKING:
    from fisk_ai.config import Config  # loads pydantic, which running commands does not need


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedApplication:
    """What an application brought; empty where none is configured.

    ``global_flags`` are those offered on the tools, ``available_flags`` all that could be.
    """

    tools: tuple[Tool, ...] = ()
    advisories: tuple[Advisory, ...] = ()
    name: str = ""
    version: str = ""
    help: str = ""
    program: Path | None = None
    global_flags: tuple[str, ...] = ()
    available_flags: tuple[GlobalFlag, ...] = ()


async def load(
    config: Config, *, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> LoadedApplication:
    """Introspect the configured application and return its selected tools.

    Commands inherit ``environ``, from which credentials are taken out. They run in
    ``root_directory`` where one is set and a call brings no directory of its own.

    Raises:
        SetupError: the program cannot be found, asked or understood, describes no commands, or
            two commands would become one tool.
        ConfigError: a filter or a global flag that cannot be meant.
    """
    import asyncio  # noqa: PLC0415 - there is no event loop where an application is only listed

    with begun(config, environ=environ, timeout_s=timeout_s) as introspection:
        return await asyncio.to_thread(finish, config, introspection, environ=environ)


def finish(
    config: Config, introspection: Introspection | None, *, environ: Mapping[str, str]
) -> LoadedApplication:
    """Wait for the application that was begun, and return its selected tools.

    Raises:
        SetupError, ConfigError: as :func:`load`.
    """
    if introspection is None:
        unmatched = _unmatched(config.harness.confirm_tags, ())
        return LoadedApplication(advisories=tuple(unmatched))
    document = introspection.document()
    return assemble(config, document, program=introspection.program, environ=environ)


def assemble(
    config: Config, document: Application, *, program: Path, environ: Mapping[str, str]
) -> LoadedApplication:
    """Make tools of what ``program`` printed of itself; nothing is run.

    Raises:
        SetupError, ConfigError: as :func:`load`, for what the document says.
    """
    if not document.commands:
        raise SetupError(
            f"introspecting {program} failed: it describes no commands; let it print the document "
            "of an application that has some",
            key="application_path",
        )
    selection = select(config)
    found = leaves(document.commands, program)
    offered = global_flags.resolve(config.global_flags, document)
    selected = [leaf for leaf in found if selection.keeps(leaf.tool_name, leaf.tags)]
    check_names(selected)
    host = Host(program=program, environ=without_configured(environ, config), directory=config.base)
    return LoadedApplication(
        tools=tuple(_tool(leaf, offered, host) for leaf in selected),
        advisories=(
            *_unmatched(config.harness.confirm_tags, selected),
            *_group_advisories(document.commands, selected),
            *_tag_advisories(selected),
        ),
        name=document.name,
        version=document.version,
        help=document.help,
        program=program,
        global_flags=tuple(flag.name for flag in offered),
        available_flags=global_flags.available(document, offered),
    )


def _tool(leaf: Leaf, offered: Sequence[Flag], host: Host) -> CommandTool:
    return CommandTool(leaf, global_flags.for_leaf(offered, leaf), host)


def _unmatched(confirm_tags: Sequence[str], selected: Sequence[Leaf]) -> list[Advisory]:
    carried = {tag for leaf in selected for tag in leaf.tags}
    return [
        Advisory(kind="confirm_tag_unmatched", name=tag)
        for tag in confirm_tags
        if tag not in carried
    ]


def _group_advisories(commands: Sequence[Command], selected: Sequence[Leaf]) -> list[Advisory]:
    return [
        Advisory(kind="unknown_reserved_tag", name=group, params=idle)
        for group, idle in idle_group_tags(commands, selected)
    ]


def _tag_advisories(selected: Sequence[Leaf]) -> list[Advisory]:
    """Return what is odd about each leaf's tags; most leaves share theirs with others."""
    odd = {carried: _odd(carried) for carried in {leaf.tags for leaf in selected}}
    return [
        Advisory(kind=kind, name=leaf.tool_name, params=params)
        for leaf in selected
        for kind, params in odd[leaf.tags]
    ]


def _odd(carried: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    found = (
        ("unknown_reserved_tag", tags.unknown_reserved(carried)),
        ("behavior_tag_conflict", tags.conflicts_of(carried)),
    )
    return [(kind, params) for kind, params in found if params]
