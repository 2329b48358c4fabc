"""The example over the real nats command and a real server; it needs that command installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from fisk_ai.testing.broker import running_server
from fisk_ai.testing.command import Agent, Done

NATS = shutil.which("nats")
EXAMPLE = Path(__file__).parents[2] / "examples" / "nats-ops"
STORED = 3

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(60),
    pytest.mark.skipif(NATS is None, reason="the nats command is not installed on this machine"),
]


def nats(url: str, *arguments: str) -> str:
    done = subprocess.run(
        [NATS or "nats", *arguments],
        env={**os.environ, "NATS_URL": url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def messages(url: str) -> int:
    info: Mapping[str, Mapping[str, int]] = json.loads(
        nats(url, "stream", "info", "ORDERS", "--json")
    )
    return info["state"]["messages"]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[str]:
    """A server with JetStream and a stream ORDERS that holds three messages."""
    store = json.dumps(str(tmp_path / "store"))
    configuration = f"listen: 127.0.0.1:-1\njetstream: {{store_dir: {store}}}"
    async with running_server(tmp_path / "server", configuration) as url:
        nats(url, "stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults")
        for number in range(STORED):
            nats(url, "publish", "orders.new", str(number))
        yield url


def ask(agent: Agent, url: str, script: str, prompt: str) -> Done:
    words = ("--config", str(EXAMPLE / "agent.yaml"), "--script", str(EXAMPLE / script))
    return agent.run("run", *words, "--tool-output", prompt, environ={"NATS_URL": url})


def test_the_agent_reads_the_streams_of_a_real_server(agent: Agent, server: str) -> None:
    done = ask(agent, server, "script.yaml", "which streams are there?")
    assert done.status == 0, done.err
    assert "There is one stream, ORDERS." in done.out
    assert '"messages": 3' in done.err


def test_a_purge_is_refused_where_nobody_can_be_asked(agent: Agent, server: str) -> None:
    done = ask(agent, server, "purge.yaml", "empty ORDERS")
    assert done.status == 0, done.err
    assert "The purge was not allowed" in done.out
    assert messages(server) == STORED
