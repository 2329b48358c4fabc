"""The example over the real nats command and a real server; it needs that command installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.config import Mode, load
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.command import Agent, Done
from fisk_ai.toolkit.contract import Confirmable
from fisk_ai.toolkit.fisk import application as applications

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


LOOKED_AT = """
ack-pending api-level bound bucket closed-reason cluster consumer consumers created
display-value empty endpoint expire-warn expression file filter force id idle invert
json key leader leaders mirrored name names no-select ocsp pem pending pinned progress
pull push raw replicas reverse revision server-name service sort sourced state stream
subject top username verbose waiting
"""
"""Flags and arguments of what runs unasked, none of which runs a program or writes a file."""


async def test_every_flag_of_what_runs_unasked_was_looked_at() -> None:
    config = load(EXAMPLE / "agent.yaml", Mode.LENIENT)
    application = await applications.load(config, environ=os.environ)
    unasked = {
        tool.name: frozenset(cast("Mapping[str, object]", tool.input_schema()["properties"]))
        for tool in application.tools
        if not (isinstance(tool, Confirmable) and tool.needs_confirm(config.harness.confirm_tags))
    }
    assert {"stream_ls", "stream_state"} <= set(unasked)
    unknown = {name: offered - set(LOOKED_AT.split()) for name, offered in unasked.items()}
    assert {name: flags for name, flags in unknown.items() if flags} == {}
    assert "stream_get" not in unasked
