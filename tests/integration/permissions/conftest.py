"""A fleet at a broker that runs what ``fisk-ai provision --permissions`` printed."""

from __future__ import annotations

import contextlib
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path

import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.cli import provision
from fisk_ai.memory.provisioning import bucket_wish
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import provision as make
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.roles import Printed, RoleFleet
from fisk_ai.testing.workshop import Workshop

AGENT = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
nats_context: fleet
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{serve_tools: true, prompts: {{workers: 2}}}}}}}}
harness:
  sessions: {{backend: jetstream, options: {{stream: RUNS, nats_context: store}}}}
  memory: {{enabled: true, backend: jetstream, options: {{bucket: MEM, nats_context: store}}}}
"""

MORE = AGENT.replace(
    "prompts: {{workers: 2}}}}}}",
    "prompts: {{workers: 2}}}}, jobs: {{}}, slack: {{}}, mcp: {{}}}}",
).replace("harness:\n", "harness:\n  knowledge: {{enabled: true}}\n")
"""The same with every door there is, so that every role is printed."""


Runs = Callable[[str], Awaitable[RoleFleet]]


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Where the configuration lies; no broker runs yet."""
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="3 nodes, none failed\n"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
            FakeCommand(path="drop", output="gone\n", tags=("ai:confirm",)),
        ],
    )
    return Workshop(directory, "", application, state="")


@pytest.fixture(scope="session")
def prints(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Printed]:
    """Return what is printed for a configuration; the same text is printed once."""

    @cache
    def printed(text: str) -> Printed:
        file = tmp_path_factory.mktemp("printed") / "agent.yaml"
        file.write_text(text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert provision.execute(["--permissions", "--config", str(file)]) == 0
        return Printed(out.getvalue())

    return printed


@pytest.fixture
async def runs(
    shop: Workshop, tmp_path: Path, prints: Callable[[str], Printed]
) -> AsyncIterator[Runs]:
    """Run a broker of what is printed for a configuration, and be its fleet."""
    async with AsyncExitStack() as running:

        async def run(text: str) -> RoleFleet:
            text = text.format(application=shop.application.path)
            shop.write("agent.yaml", text)
            printed = prints(text)
            server = running_server(
                tmp_path / "server", printed.runnable(tmp_path / "js"), environ=printed.passwords
            )
            return RoleFleet(shop, printed, await running.enter_async_context(server))

        yield run
        shop.gate.touch()
        await shop.close()


@pytest.fixture
async def bare(runs: Runs) -> RoleFleet:
    """A fleet of one agent at a broker on which nothing was made."""
    return await runs(AGENT)


@pytest.fixture
async def fleet(bare: RoleFleet) -> RoleFleet:
    """The same, provisioned; no worker was started yet."""
    async with bare.connected("operator") as operator:
        made = JetStream(operator)
        await make(made, stream_wish("RUNS", replicas=1), bucket_wish("MEM", replicas=1))
    return bare


@pytest.fixture
async def whole(runs: Runs) -> RoleFleet:
    """A broker of every role there is; nothing was made on it."""
    return await runs(MORE)


@pytest.fixture
def more() -> str:
    """The configuration of every role there is."""
    return MORE.format(application="/bin/true")
