"""A worker that is stopped gets no more prompts once its broker has noticed.

The broker has the settings that a private one runs with, but for a shorter interval: it notices
within seconds, and how long the private one takes follows from the same sum.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import Result
from fisk_ai.bus.broker import Broker, find_binary
from fisk_ai.bus.connection import Connection, ConnectOptions, connect
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.workshop import Worker, Workshop

pytestmark = pytest.mark.integration

INTERVAL_S = 1
PING_MAX = 2
PROMPTS = 8
"""Were the stopped worker still in the group, one in 256 runs would not notice."""

NOTICED_WITHIN_S = 40
SETTINGS = f"""\
listen: "127.0.0.1:-1"
ping_interval: "{INTERVAL_S}s"
ping_max: {PING_MAX}
system_account: SYS
accounts {{
  SYS {{ users: [{{user: watcher, password: w}}] }}
  AGENTS {{ users: [{{user: agents, password: a}}] }}
}}
"""
DISCONNECTS = "$SYS.ACCOUNT.AGENTS.DISCONNECT"


@dataclass(frozen=True, slots=True)
class Place:
    """A broker that tells of the connections it gives up, and a caller of the agents on it."""

    caller: Connection
    given_up: asyncio.Event


@pytest.fixture
async def place(workshop: Workshop, tmp_path: Path) -> AsyncIterator[Place]:
    given_up = asyncio.Event()

    async def on_disconnect(event: object) -> None:
        given_up.set()

    async with running_server(tmp_path / "server", SETTINGS) as url:
        workshop.url = url.replace("nats://", "nats://agents:a@")
        watcher = await connect(ConnectOptions(url, "watcher", user="watcher", password="w"))
        caller = await connect(ConnectOptions(url, "caller", user="agents", password="a"))
        await watcher.watch(DISCONNECTS, on_disconnect)
        await watcher.flush()
        yield Place(caller, given_up)
        await caller.drain()
        await watcher.drain()


def longest_s(interval_s: float) -> float:
    """How long a server takes to give up a connection that went silent, at most.

    The interval under way ends, and one passes for each ping that may go unanswered; a last one is
    the slack of its timers.
    """
    return interval_s * (PING_MAX + 2)


async def test_a_frozen_worker_gets_no_more_prompts_once_its_pings_went_unanswered(
    workshop: Workshop, place: Place, ask: Callable[[AgentClient], Awaitable[TaskEnd]]
) -> None:
    frozen: Worker = await workshop.start()
    await workshop.start()
    agent = AgentClient(place.caller, "watchman", "tester")
    frozen.process.send_signal(signal.SIGSTOP)
    async with asyncio.timeout(2 * longest_s(INTERVAL_S)):  # the machine may be slow
        await place.given_up.wait()
    ends: Sequence[TaskEnd] = [await ask(agent) for _ in range(PROMPTS)]
    assert [type(end.terminal) for end in ends] == [Result] * PROMPTS


KEEPING = """\
#!/bin/sh
cat "$2" > "{kept}"
exec "{program}" "$@"
"""
"""A server that leaves its configuration behind, which a private broker takes care not to."""


async def configuration_of_a_private_broker(directory: Path) -> str:
    kept, program = directory / "kept.conf", directory / "keeping-server"
    program.write_text(KEEPING.format(kept=kept, program=find_binary(os.environ)))
    program.chmod(0o700)
    broker = await Broker.start(directory=directory, binary=str(program), environ=os.environ)
    await broker.stop()
    return kept.read_text("utf-8")


async def test_a_private_broker_runs_with_settings_that_leave_a_frozen_worker_out_in_time(
    tmp_path: Path,
) -> None:
    text = await configuration_of_a_private_broker(tmp_path)
    interval = re.search(r'^ping_interval: "(\d+)s"$', text, re.MULTILINE)
    assert interval is not None
    assert re.search(rf"^ping_max: {PING_MAX}$", text, re.MULTILINE)
    assert int(interval[1]) == 10
    assert longest_s(int(interval[1])) <= NOTICED_WITHIN_S
