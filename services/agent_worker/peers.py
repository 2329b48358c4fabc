"""The peers whose tools a worker imports: asked once when it starts, and waited for.

A run never begins without the tools that the configuration names: a peer that does not answer keeps
the worker from starting. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import DiscoveryReply
from fisk_ai.bus.connection import Connection
from fisk_ai.config import Config
from fisk_ai.config.model import RemoteToolHost
from fisk_ai.errors import BusError, PeerError, ProtocolError, SetupError
from fisk_ai.serving.log import get_logger
from fisk_ai.toolkit.remote import LEAST_IDLE_S, Caller, Host, Imported, import_tools

_log = get_logger("agent_worker")

AGAIN_S: Final = 0.5
"""Between two questions to a peer that is not there yet."""

_CARD_S: Final = 5.0
_IDLE_S: Final = 120.0


async def remote_tools(
    config: Config, connection: Connection, claimed: Collection[str], *, wait_s: float
) -> Imported:
    """Ask every peer for its card, for ``wait_s`` seconds where it does not answer, and import.

    Raises:
        SetupError: a peer did not answer in time; names it.
        ConfigError: a filter does not compile, or names clash.
    """
    asked = [_host(config, connection, host, wait_s) for host in config.remote_tools]
    hosts = await asyncio.gather(*asked)
    a2a = config.expose.agent.a2a
    idle_s = max(a2a.request_timeout_s if a2a is not None else _IDLE_S, LEAST_IDLE_S)
    return import_tools(hosts, claimed, Caller(connection, config.identity, idle_s))


async def _host(
    config: Config, connection: Connection, written: RemoteToolHost, wait_s: float
) -> Host:
    card = await _card(config, connection, written.name, wait_s)
    return Host(
        name=written.name,
        alias=written.alias or written.name,
        include=written.include,
        exclude=written.exclude,
        tools=card.tools,
    )


async def _card(config: Config, connection: Connection, name: str, wait_s: float) -> DiscoveryReply:
    client = AgentClient(connection, name, config.identity)
    ends = asyncio.get_running_loop().time() + wait_s
    told = False
    while True:
        try:
            return await client.card(min(_CARD_S, max(wait_s, AGAIN_S)))
        except (PeerError, BusError, ProtocolError) as exc:
            if asyncio.get_running_loop().time() + AGAIN_S > ends:
                raise SetupError(
                    f'remote_tools: the card of agent "{name}" could not be read within'
                    f" {wait_s:g} s: {exc}; start that agent, or remove it",
                    key="remote_tools",
                ) from exc
            if not told:
                _log.info("waiting for a peer", peer=name, reason=str(exc))
                told = True
        await asyncio.sleep(AGAIN_S)
