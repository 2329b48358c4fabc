"""What the verbs of ``fisk-ai turn`` have in common: whose turns, and at which broker."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fisk_ai.a2a import subjects
from fisk_ai.a2a.durable import dead
from fisk_ai.a2a.durable.binding import stream_of
from fisk_ai.a2a.durable.channels import SLACK
from fisk_ai.a2a.durable.dead import DeadTurn
from fisk_ai.bus import contexts
from fisk_ai.bus.connection import connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.cli.arguments import CommandParser
from fisk_ai.cli.one_shot import run_one_shot
from fisk_ai.cli.run_flags import DEFAULT_CONFIG
from fisk_ai.config import Config, Mode, load
from fisk_ai.errors import UsageError
from fisk_ai.text.sanitise import for_terminal

PROGRAM = "fisk-ai turn"

VALUED = frozenset({"--config", "--nats-context", "--identity"})
"""Flags of the group that take a value; they may stand before the verb."""

TURN_LIMIT = 520
"""Code points of a turn's name: it is there to be copied, and a number may be behind it."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where the turns of one agent are; ``config`` is absent where its file was not read."""

    js: JetStream
    identity: str
    config: Config | None

    async def dead_stream(self) -> str:
        """Name the stream of dead letters.

        Raises:
            SetupError: there is none, or there are two.
        """
        subject = subjects.dead(self.identity, SLACK.name)
        return await stream_of(self.js, subject, key="--nats-context")

    async def letters(self, channel: str = "*") -> list[DeadTurn]:
        """Return the dead letters of a channel, or of all, each turn once and newest last.

        Raises:
            SetupError, BusError: they cannot be read.
        """
        stream = await self.dead_stream()
        found = [each async for each in dead.letters(self.js, stream, self.identity, channel)]
        return list({each.event: each for each in found}.values())

    async def named(self, names: Sequence[str]) -> list[DeadTurn]:
        """Return the letters of these turns.

        Raises:
            UsageError: there is none of one of them.
            SetupError, BusError: they cannot be read.
        """
        by_name = {each.event: each for each in await self.letters()}
        for name in names:
            if name not in by_name:
                raise UsageError(f"no dead turn \"{shown(name)}\"; see '{PROGRAM} ls'", key="turn")
        return [by_name[name] for name in dict.fromkeys(names)]

    async def drop(self, letter: DeadTurn) -> None:
        """Remove every letter of a turn; raises BusError."""
        stream = await self.dead_stream()
        async for each in dead.letters(self.js, stream, self.identity, letter.channel):
            if each.event == letter.event:
                await self.js.remove(stream, each.seq)


def parser_of(verb: str, description: str) -> CommandParser:
    """Return the parser of a verb with the flags of the group."""
    parser = CommandParser(f"{PROGRAM} {verb}", description)
    parser.value("--config", "FILE", f"the agent's configuration (default {DEFAULT_CONFIG})")
    parser.value("--nats-context", "NAME", "ask over this NATS context")
    parser.value("--identity", "NAME", "the agent's name (default: the configuration's)")
    return parser


def at_place(
    arguments: argparse.Namespace, work: Callable[[TurnPlace], Coroutine[object, object, _T]]
) -> _T:
    """Do ``work`` where the flags say.

    Raises:
        ConfigError, SetupError: the configuration or the broker cannot be used.
        KeyboardInterrupt: a signal cancelled it.
    """
    config = None
    if arguments.config or not arguments.identity:
        config = load(Path(arguments.config or DEFAULT_CONFIG), Mode.LENIENT)
    identity = arguments.identity or (config.identity if config else "")
    named = arguments.nats_context or (config.nats_context if config else "")
    options = contexts.named_or_given(
        named,
        f"turns of {identity}",
        os.environ,
        url=os.environ.get("FISK_AI_NATS_URL", "").strip(),
        creds=os.environ.get("FISK_AI_NATS_CREDS", "").strip(),
    )
    return run_one_shot(_connected(options, identity, config, work))


async def _connected(
    options: ConnectOptions,
    identity: str,
    config: Config | None,
    work: Callable[[TurnPlace], Coroutine[object, object, _T]],
) -> _T:
    connection = await connect(options)
    try:
        js = JetStream(connection, api_prefix=options.api_prefix)
        return await work(TurnPlace(js, identity, config))
    finally:
        await connection.drain()


def shown(name: str) -> str:
    """Return the name of a turn, fit for a cell or a sentence."""
    return for_terminal(name, TURN_LIMIT)
