"""Other workers of this identity: sessions that are files cannot be shared with another host.

A conversation that began there would not be found here, and begin anew without a word. So a worker
that finds another host's takes no work until it is alone. Workers say on which host they are, by a
mark that tells hosts apart and names none. Rules: ``docs/reference/serving.md``.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import Mapping
from typing import Final

import msgspec

from agent_worker.readiness import Readiness
from fisk_ai.bus.connection import Connection
from fisk_ai.config import Config
from fisk_ai.serving.log import get_logger
from fisk_ai.sessions.places import FILE_BACKEND
from fisk_ai.text.sanitise import for_terminal

HOST: Final = "fisk-ai-host"
"""What of a service's metadata says where it runs."""

ANSWERS_S: Final = 0.5
"""How long the others may take to answer; those that are there take a millisecond."""

AGAIN_S: Final = 2.0

SHOWN: Final = 5
"""How many instances a log line names."""

_log = get_logger("agent_worker")


class _Info(msgspec.Struct):
    id: str = ""
    metadata: dict[str, str] | None = None


def apart(config: Config) -> bool:
    """Say whether the runs of ``config`` leave what another host's worker would not find."""
    return config.takes_work and config.harness.sessions.backend == FILE_BACKEND


def marks() -> Mapping[str, str]:
    """Return the metadata of a service on this host."""
    return {HOST: hashlib.sha256(socket.gethostname().encode()).hexdigest()[:16]}


async def wait_alone(connection: Connection, identity: str, readiness: Readiness) -> None:
    """Wait until no worker of ``identity`` runs on another host.

    Raises:
        BusError: the broker cannot be asked.
    """
    told = False
    while others := await _elsewhere(connection, identity):
        readiness.awaits("another instance of this agent runs on another host")
        if not told:
            _log.error(
                "another instance of this agent runs on another host, where its sessions would not"
                " be found: set harness.sessions.backend to jetstream, or stop one of them",
                instances=others[:SHOWN],
            )
            told = True
        await asyncio.sleep(AGAIN_S)
    readiness.awaits("")


async def _elsewhere(connection: Connection, identity: str) -> list[str]:
    """Return the ids of the workers that say they are on another host."""
    here = marks()[HOST]
    found: list[str] = []
    inbox = await connection.open_inbox()
    try:
        await connection.publish_request(f"$SRV.INFO.{identity}", b"", reply=inbox.subject)
        until = asyncio.get_running_loop().time() + ANSWERS_S
        while (left := until - asyncio.get_running_loop().time()) > 0:
            answer = await inbox.next(left)
            if answer is None:
                break
            info = _read(answer.body)
            if (info.metadata or {}).get(HOST, here) != here:
                found.append(for_terminal(info.id, 64))
    finally:
        await inbox.close()
    return found


def _read(body: bytes) -> _Info:
    try:
        return msgspec.json.decode(body, type=_Info)
    except msgspec.MsgspecError:
        return _Info()
