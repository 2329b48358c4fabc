"""Workers that take durable turns, killed or frozen at every step; another one goes on.

Whatever dies, and where: the thread has one complete set with one terminal, no reply of the model
that was recorded is asked for again, and nothing is left in the queue.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_worker.channels.turns import TurnsChannel
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable import dead, headers
from fisk_ai.a2a.durable.reading import ReadSet
from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import Config
from fisk_ai.errors import StoreError
from fisk_ai.llm.provider import Capabilities
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.records import Assistant, Claim, ToolResult
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import connected, running_broker
from fisk_ai.testing.command import alive
from fisk_ai.testing.gateway import code_of, text_of
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.tools import FakeTool
from fisk_ai.testing.turns import IDENTITY, THREAD, Fleet, Serving, fleet_at
from fisk_ai.testing.workshop import Worker, Workshop

pytestmark = [pytest.mark.fault, pytest.mark.timeout(60)]

LEASE_S = 1.5
SERVE = ("--no-operator",)
SCRIPTED = Capabilities(provider="scripted", semconv_provider="scripted")

CONFIG = """\
identity: billing
system_prompt: be brief
application_path: {application}
llm: {{model: m, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{slack: {{workers: 1, answer_grace: 100ms}}}}}}
harness:
  human_in_the_loop: {{enabled: true}}
  sessions: {{backend: jetstream, options: {{stream: RUNS}}}}
"""
SCRIPT = "turns:\n  - call: [{tool: report, input: {}}]\n  - say: All is well.\n"
ANSWERS = (call(("c1", "report")), say("All is well."))
STEPS = (
    "turn.taken",
    "turn.acked",
    "journal.append.synced:meta",
    "journal.append.synced:assistant",
    "tool.after",
    "journal.append.synced:tool_result",
    "journal.append.synced:terminal",
    "turn.terminal.stored",
    "turn.settled",
)


async def start_turns(
    config: Config,
    connection: Connection,
    streams: Callable[[], Awaitable[JetStream]],
    store: StreamStore,
) -> TurnsChannel:
    channel = TurnsChannel(config, connection, streams, store, delays_s=(0.1,))
    await channel.start()
    return channel


@dataclass(slots=True)
class Place:
    """Real workers in a workshop, and further ones of the same agent in this process."""

    shop: Workshop
    fleet: Fleet
    tool: FakeTool

    async def worker(self, fault: str = "") -> Worker:
        """Start a real worker that dies at a fault point, if one is named."""
        environ = {"FISK_AI_FAULT": f"{fault}=kill"} if fault else {}
        return await self.shop.start(*SERVE, environ=environ)

    async def successor(self, turn: Turn, *answers: object) -> Serving:
        """Start a worker whose model has what the session of ``turn`` still lacks."""
        recorded = await self.recorded(turn, Assistant)
        left = answers or ANSWERS[recorded:]
        model = ScriptedProvider(left, capabilities=SCRIPTED)  # pyright: ignore[reportArgumentType] - a test's own
        return await self.fleet.serve(
            model,
            tools=[self.tool, FakeTool(name="hold")],
            harness={"human_in_the_loop": {"enabled": True}},
        )

    async def recorded(self, turn: Turn, kind: type[object]) -> int:
        """Return how many records of a kind a session holds."""
        try:
            return sum(isinstance(p, kind) for p in await self.fleet.payloads(turn))
        except StoreError:
            return 0

    def require_one_whole_set(self, turn: Turn, found: ReadSet) -> None:
        """Fail where the set has a gap, or more than one end."""
        assert [each.sequence for each in found.messages] == list(range(1, found.last + 1))
        finals = [
            reply
            for reply in self.fleet.gateway.replies_of(turn)
            if reply.stored.headers.get(headers.FINAL)
        ]
        assert len(finals) == 1


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="3 nodes\n"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
        ],
    )
    async with (
        running_broker(tmp_path / "broker", jetstream=True) as broker,
        connected(broker, name="gateway") as connection,
    ):
        fleet = await fleet_at(broker, connection, start_turns, lease_s=LEASE_S)
        shop = Workshop(directory, broker.url_with_credentials, application, state="")
        shop.write("agent.yaml", CONFIG.format(application=application.path))
        shop.write("script.yaml", SCRIPT)
        yield Place(shop, fleet, FakeTool(name="report"))
        await fleet.close()
        await shop.close()


@pytest.fixture
def turn(place: Place) -> Turn:
    return place.fleet.gateway.turn(THREAD, "slack:T1:C1:1", "are the nodes well")


@pytest.mark.parametrize("step", STEPS)
async def test_a_worker_that_is_killed_leaves_a_turn_that_another_one_finishes(
    place: Place, turn: Turn, step: str
) -> None:
    killed = await place.worker(step)
    await place.fleet.gateway.publish(turn)
    assert await killed.ended() == -signal.SIGKILL
    recorded = await place.recorded(turn, Assistant)
    successor = await place.successor(turn)
    found = await place.fleet.gateway.ended(turn)
    assert text_of(found) == "All is well."
    await place.fleet.settled()
    await place.fleet.gateway.catch_up(turn.thread_hash)
    place.require_one_whole_set(turn, found)
    assert len(successor.model.requests) == len(ANSWERS) - recorded
    assert await place.recorded(turn, Assistant) == len(ANSWERS)
    ran = place.shop.application.count("report") + len(place.tool.calls)
    assert ran == (2 if step == "tool.after" else 1)


async def test_a_turn_that_kills_its_workers_is_set_aside_after_three_of_them(
    place: Place, turn: Turn
) -> None:
    await place.fleet.gateway.publish(turn)
    killed = await asyncio.gather(*(place.worker("turn.acked") for _ in range(3)))
    ends = await asyncio.gather(*(worker.ended() for worker in killed))
    assert ends == [-signal.SIGKILL] * 3
    successor = await place.successor(turn)
    found = await place.fleet.gateway.ended(turn)
    assert code_of(found) == "crashed"
    await place.fleet.settled()
    place.require_one_whole_set(turn, found)
    letters = [each async for each in dead.letters(place.fleet.js, "FISK_AI_DEAD", IDENTITY)]
    assert [(each.event, each.tries) for each in letters] == [(turn.event, 3)]
    assert successor.model.requests == []


async def test_a_worker_killed_behind_a_dead_letter_leaves_one_letter_and_a_thread_that_is_told(
    place: Place, turn: Turn
) -> None:
    killed = await place.worker("turn.buried")
    body = b'{"protocol": "io.choria.fisk-ai.v1.request.prompt", "request": "%s"}'
    message = body % turn.message.request.encode()
    subject = "choria.fisk-ai.turn.billing.slack"
    await place.fleet.js.publish(subject, message, headers=turn.headers())
    assert await killed.ended() == -signal.SIGKILL
    await place.successor(turn)
    assert code_of(await place.fleet.gateway.ended(turn)) == "rejected"
    await place.fleet.settled()
    letters = [each async for each in dead.letters(place.fleet.js, "FISK_AI_DEAD", IDENTITY)]
    assert [each.event for each in letters] == [turn.event]


async def test_an_answer_whose_worker_dies_between_claim_and_record_is_used(
    place: Place, turn: Turn
) -> None:
    question = "{tool: ask_human_confirm, input: {question: Sure?}}"
    place.shop.write("script.yaml", f"turns:\n  - call: [{question}]\n")
    killed = await place.worker("journal.append.before:tool_result")
    gateway = place.fleet.gateway
    await gateway.publish(turn)
    assert code_of(await gateway.ended(turn)) == "deferred"
    asked = gateway.read(turn).questions[-1]
    given = m.Answer(
        tool_use_id=asked.tool_use_id, kind="confirm", answer="confirmed", confirmed=True
    )
    late = gateway.answer(THREAD, "slack:T1:C1:click", given)
    await gateway.publish(late)
    assert await killed.ended() == -signal.SIGKILL
    assert await place.recorded(turn, Claim) == 1
    assert await place.recorded(turn, ToolResult) == 0
    successor = await place.successor(turn, say("Then it is done."))
    assert text_of(await gateway.ended(late)) == "Then it is done."
    assert await place.recorded(turn, ToolResult) == 1
    assert "true" in str(successor.model.requests[0].messages[-1])


async def test_a_worker_that_was_frozen_beyond_its_lease_does_and_says_nothing_more(
    place: Place, turn: Turn
) -> None:
    held = "turns:\n  - call: [{tool: hold, input: {}}, {tool: report, input: {}}]\n"
    place.shop.write("script.yaml", held)
    frozen = await place.worker()
    gateway = place.fleet.gateway
    await gateway.publish(turn)
    async with asyncio.timeout(15):
        while not place.shop.application.calls():
            await place.fleet.queued()
    (command,) = place.shop.application.calls()
    frozen.process.send_signal(signal.SIGSTOP)
    await place.successor(turn, say("All is well."))
    assert text_of(await gateway.ended(turn)) == "All is well."
    written = await place.fleet.kinds(turn)
    frozen.process.send_signal(signal.SIGCONT)
    async with asyncio.timeout(15):
        while alive(command.pid):
            await place.fleet.queued()
    frozen.process.send_signal(signal.SIGTERM)
    assert await frozen.ended() == 0
    await gateway.catch_up(turn.thread_hash)
    place.require_one_whole_set(turn, gateway.read(turn))
    assert await place.fleet.kinds(turn) == written
    assert place.shop.application.count("report") == 0
