"""A fleet at a broker that runs what ``fisk-ai provision --permissions`` printed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.roles import Printed, RoleFleet
from fisk_ai.testing.workshop import Workshop, typing_in

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
        ],
    )
    return Workshop(directory, "", application, state="")


@pytest.fixture
async def runs(shop: Workshop, tmp_path: Path) -> AsyncIterator[Runs]:
    """Run a broker of what is printed for a configuration, and be its fleet."""
    async with AsyncExitStack() as running:

        async def run(text: str) -> RoleFleet:
            shop.write("agent.yaml", text.format(application=shop.application.path))
            done = await typing_in(shop.directory)("provision", "--permissions")
            assert (done.code, done.err) == (0, "")
            printed = Printed(done.out)
            text = printed.runnable(tmp_path / "js")
            server = running_server(tmp_path / "server", text, environ=printed.passwords)
            return RoleFleet(shop, printed, await running.enter_async_context(server))

        yield run
        shop.gate.touch()
        await shop.close()


@pytest.fixture
async def fleet(runs: Runs) -> RoleFleet:
    """A provisioned fleet of one agent, whose worker was not started yet."""
    made = await runs(AGENT)
    done = await made.operate("provision", "--apply")
    assert (done.code, done.err.splitlines()) == (0, ["RUNS: created", "KV_MEM: created"])
    return made


@pytest.fixture
async def whole(runs: Runs) -> RoleFleet:
    """A broker of every role there is; nothing was provisioned."""
    return await runs(MORE)
