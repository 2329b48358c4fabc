"""A worker that is alive says whether it can take work, and why not."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_worker.instances import HOST
from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import RequestPrompt, Sender, request_header
from fisk_ai.bus.broker import Broker, Login
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.memory.provisioning import bucket_wish
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.broker import connected, provision
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.command import until
from fisk_ai.testing.workshop import Worker, Workshop

pytestmark = pytest.mark.integration

RUNS = stream_wish("RUNS", replicas=1)
MEM = bucket_wish("MEM", replicas=1)
FILES = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{prompts: {{}}}}}}}}
"""


class Probe:
    """Asks a worker over HTTP."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def _get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as exc:
            return exc.code, exc.read().decode()
        except OSError:
            return 0, ""

    async def alive(self) -> bool:
        return await asyncio.to_thread(self._get, "/livez") == (200, "alive\n")

    async def until(self, text: str) -> None:
        """Wait until readiness is told in these words."""
        said = ""
        try:
            async with asyncio.timeout(12):
                while text not in said:
                    _, said = await asyncio.to_thread(self._get, "/readyz")
        except TimeoutError:
            raise AssertionError(f"not told: {text!r}, but {said!r}") from None


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
async def start(fleet: Workshop, probe: Probe, tmp_path: Path) -> AsyncIterator[Starts]:
    starts = Starts(fleet, probe, tmp_path)
    yield starts
    if starts.task is not None:
        starts.task.cancel()
        await asyncio.wait({starts.task})


class Starts:
    """Starts one worker that tells of its health, without waiting for it."""

    def __init__(self, fleet: Workshop, probe: Probe, home: Path) -> None:
        self._fleet = fleet
        self._environ = {
            "FISK_AI_HEALTH_ADDRESS": probe.address,
            "XDG_STATE_HOME": str(home / "state"),
        }
        self.task: asyncio.Task[Worker] | None = None
        fleet.write("script.yaml", "turns: [{say: done}]\n")
        self.unprobed = {"XDG_STATE_HOME": self._environ["XDG_STATE_HOME"]}

    def __call__(self) -> asyncio.Task[Worker]:
        self.task = asyncio.create_task(self._fleet.start("--no-operator", environ=self._environ))
        return self.task


async def test_what_comes_late_is_waited_for_alive_and_unready(
    start: Starts, probe: Probe, caller: Connection
) -> None:
    starting, made = start(), JetStream(caller)
    await probe.until('the session stream "RUNS" cannot be used: it does not exist')
    assert await probe.alive()
    await provision(made, RUNS)
    await probe.until('the memory bucket "MEM" cannot be used: it does not exist')
    await provision(made, MEM)
    worker = await starting
    await probe.until("ready\n")
    assert worker.said == [{"ready": True, "identity": "watchman"}]


async def test_a_broker_that_goes_away_and_comes_back_is_a_state(
    start: Starts, probe: Probe, js: JetStream, broker: Broker, tmp_path: Path
) -> None:
    worker = await start()
    await probe.until("ready\n")
    await js.connection.drop()
    await broker.stop()
    await probe.until("the broker is away: NATS at nats://127.0.0.1:")
    assert await probe.alive()
    login = Login(broker.user, broker.password, int(broker.url.rpartition(":")[2]))
    back = await Broker.start(directory=tmp_path / "broker", jetstream=True, login=login)
    try:
        await probe.until("ready\n")
        assert worker.process.returncode is None
    finally:
        await back.stop()


async def test_a_store_that_is_gone_is_told_until_it_is_there_again(
    start: Starts, probe: Probe, js: JetStream
) -> None:
    await start()
    await probe.until("ready\n")
    await js.api("STREAM.DELETE.KV_MEM", {}, dict[str, object])
    await probe.until('the memory bucket "MEM" cannot be used')
    await provision(js, MEM)
    await probe.until("ready\n")


async def test_a_drain_is_no_time_for_work(
    start: Starts, probe: Probe, fleet: Workshop, js: JetStream, caller: Connection
) -> None:
    fleet.write("script.yaml", "turns: [{call: [{tool: hold, input: {}}]}, {say: done}]\n")
    worker = await start()
    await probe.until("ready\n")
    header = request_header(Sender(name="tester"), "watchman")
    prompt = RequestPrompt(**header, prompt="hold on")
    asking = asyncio.create_task(
        AgentClient(caller, "watchman", "tester").run(prompt, GaplessCaller())
    )
    await asyncio.to_thread(until, "the tool runs", lambda: fleet.application.count("hold") == 1)
    worker.process.send_signal(signal.SIGTERM)
    await probe.until("draining")
    assert await probe.alive()
    fleet.gate.touch()
    assert await worker.ended() == 0
    await asking


async def test_a_worker_with_files_takes_no_work_beside_one_of_another_host(
    start: Starts, probe: Probe, fleet: Workshop, broker: Broker
) -> None:
    fleet.write("agent.yaml", FILES.format(application=fleet.application.path))
    async with connected(broker, name="elsewhere") as elsewhere:
        await elsewhere.service("watchman", metadata={HOST: "another"})
        starting = start()
        await probe.until("another instance of this agent runs on another host")
        assert await probe.alive()
        assert not starting.done()
    worker = await starting
    await probe.until("ready\n")
    worker.process.send_signal(signal.SIGTERM)
    assert await worker.ended() == 0
    errors = [json.loads(line) for line in worker.stderr.splitlines() if b'"error"' in line]
    assert len(errors) == 1
    assert "set harness.sessions.backend to jetstream" in errors[0]["event"]


async def test_workers_with_files_on_one_host_serve_together(
    start: Starts, probe: Probe, fleet: Workshop
) -> None:
    fleet.write("agent.yaml", FILES.format(application=fleet.application.path))
    await start()
    await probe.until("ready\n")
    second = await fleet.start("--no-operator", environ=start.unprobed)
    assert second.said == [{"ready": True, "identity": "watchman"}]
