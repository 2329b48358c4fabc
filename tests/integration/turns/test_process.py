"""Durable turns of real worker processes, and the commands of whoever runs them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import connected
from fisk_ai.testing.gateway import BenchGateway, code_of
from fisk_ai.testing.turns import THREAD
from fisk_ai.testing.workshop import Worker, Workshop, typing_in

pytestmark = pytest.mark.integration

CONFIG = """\
identity: billing
system_prompt: be brief
application_path: {application}
llm: {{model: m, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{slack: {{approvers: [U123]}}}}}}
harness: {{sessions: {{backend: jetstream, options: {{stream: RUNS}}}}}}
"""
SERVE = ("--no-operator",)


@pytest.fixture
async def connection(broker: Broker) -> AsyncIterator[Connection]:
    async with connected(broker, name="gateway") as found:
        yield found


@pytest.fixture
async def shop(broker: Broker, tmp_path: Path) -> AsyncIterator[Workshop]:
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="3 nodes\n"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
        ],
    )
    found = Workshop(directory, broker.url_with_credentials, application, state="")
    found.write("agent.yaml", CONFIG.format(application=application.path))
    found.write("script.yaml", "turns:\n  - call: [{tool: hold, input: {}}]\n  - say: done\n")
    yield found
    found.gate.touch()
    await found.close()


async def said(worker: Worker, word: bytes) -> None:
    """Wait until a worker has logged a word."""
    assert worker.process.stderr is not None
    async with asyncio.timeout(15):
        while word not in await worker.process.stderr.readline():
            pass


async def test_what_provision_makes_is_what_a_worker_of_turns_needs(
    shop: Workshop, connection: Connection
) -> None:
    types, reached = typing_in(shop.directory), {"FISK_AI_NATS_URL": shop.url}
    assert (await types("provision", "--apply", **reached)).code == 0
    again = await types("provision", "--apply", **reached)
    assert {line.rpartition(": ")[2] for line in again.err.splitlines()} == {"exists"}
    first = await shop.start(*SERVE)
    gateway = BenchGateway(JetStream(connection), "billing")
    turn = gateway.turn(THREAD, "slack:T1:C1:1", "hold")
    await gateway.publish(turn)
    await gateway.calls(turn, "hold")
    await shop.start(*SERVE)
    first.process.send_signal(signal.SIGTERM)
    await said(first, b"draining")
    shop.gate.touch()
    assert await first.ended() == 0
    found = await gateway.ended(turn)
    assert isinstance(found.terminal, m.Result)
    assert (found.terminal.text, found.restarts, found.missed) == ("done", 1, 0)
    assert shop.application.count("hold") == 1


async def test_a_worker_without_the_streams_is_refused_with_the_command_that_makes_them(
    shop: Workshop, connection: Connection
) -> None:
    types = typing_in(shop.directory)
    await types("provision", "--apply", FISK_AI_NATS_URL=shop.url)
    await JetStream(connection).api("STREAM.DELETE.FISK_AI_REPLY", {}, dict)
    worker = await shop.start(*SERVE, environ={"FISK_AI_START_TIMEOUT": "1s"})
    assert await worker.ended() == 1
    assert "choria.fisk-ai.reply.billing.slack" in worker.error
    assert "fisk-ai provision" in worker.error


async def test_an_operator_answers_for_a_thread_and_the_thread_sees_the_rest(
    shop: Workshop, connection: Connection
) -> None:
    text = (shop.directory / "agent.yaml").read_text()
    asking = text.replace("approvers: [U123]", "answer_grace: 100ms").replace(
        "harness: {", "harness: {human_in_the_loop: {enabled: true}, "
    )
    shop.write("agent.yaml", asking)
    question = "{tool: ask_human_confirm, input: {question: Sure?}}"
    shop.write("script.yaml", f"turns:\n  - call: [{question}]\n  - say: done\n")
    await typing_in(shop.directory)("provision", "--apply", FISK_AI_NATS_URL=shop.url)
    await shop.start(*SERVE)
    gateway = BenchGateway(JetStream(connection), "billing")
    turn = gateway.turn(THREAD, "slack:T1:C1:1", "go")
    await gateway.publish(turn)
    assert code_of(await gateway.ended(turn)) == "deferred"
    call = gateway.read(turn).questions[-1].tool_use_id
    answer = m.RequestAnswer(
        **m.request_header(m.Sender(name="op"), "billing"),
        session=turn.session,
        answer=m.Answer(tool_use_id=call, kind="confirm", answer="confirmed", confirmed=True),
    )
    reply = await connection.request(
        subjects.operator("billing"), codec.encode(answer), timeout_s=10
    )
    assert isinstance(codec.decode(reply.body), m.Ack)
    async with asyncio.timeout(20):
        while not isinstance(gateway.replies_in(turn)[-1].message, m.Result):
            await gateway.catch_up(turn.thread_hash)


async def test_a_terminal_and_info_work_with_a_file_of_turns_and_say_what_is_not_built(
    shop: Workshop,
) -> None:
    types = typing_in(shop.directory)
    files = "harness: {sessions: {backend: jetstream, options: {stream: RUNS}}}\n"
    text = (shop.directory / "agent.yaml").read_text()
    shop.write("agent.yaml", text.replace(files, ""))
    shop.write("script.yaml", "turns:\n  - say: hello\n")
    done = await types("run", "--no-tui", "--state-dir", "state", "hi")
    assert (done.code, done.out) == (0, "hello\n")
    described = await types("info")
    assert described.code == 0
    for said in (done.err, described.err):
        assert "expose.agent.slack.approvers is for the Slack gateway" in said
