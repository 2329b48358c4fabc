"""Workers that die or are not alone: their callers know, and the journal decides."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import AgentClient, ClientLimits, IncompleteTaskError
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.errors import AgentUnavailableError
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import absent, answer, code_of, prompt, read, text_of

pytestmark = [pytest.mark.integration, pytest.mark.fault]

LIMITS = ClientLimits(probe_s=0.1, lost_s=0.3)
CONFIG = """\
identity: billing
system_prompt: Watch.
application_path: {application}
llm: {{model: m, provider: scripted, options: {{script: script.yaml}}}}
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    found = tmp_path / "agent"
    application = FakeApplication(found, [FakeCommand(path="report", output="fine")])
    (found / "agent.yaml").write_text(CONFIG.format(application=application.path))
    (found / "script.yaml").write_text('turns: [{say: "All is well."}]\n')
    return found


@asynccontextmanager
async def worker(
    broker: Broker,
    directory: Path,
    environ: Mapping[str, str] | None = None,
    mode: tuple[str, ...] = ("--hosted",),
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run a worker process that is ready, for the length of the block."""
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "agent_worker", *mode, "--ready-fd", str(writing)),
        *("--config", str(directory / "agent.yaml"), "--state-dir", str(directory / "state")),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=(writing,),
        env={**os.environ, "FISK_AI_NATS_URL": broker.url_with_credentials, **(environ or {})},
    )
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as ready:
            assert b'"ready": true' in await asyncio.wait_for(asyncio.to_thread(ready.read), 15)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_worker_killed_before_its_terminal_leaves_a_journal_with_the_answer(
    broker: Broker, caller: Connection, directory: Path
) -> None:
    client, told = AgentClient(caller, "billing", "terminal", limits=LIMITS), RecordingCaller()
    fault = {"FISK_AI_FAULT": "task.terminal.before=kill"}
    async with worker(broker, directory, fault) as process:
        with pytest.raises(IncompleteTaskError) as broken:
            await client.run(prompt("Well?"), told)
        assert await process.wait() == -9
    assert broken.value.token == told.token
    async with worker(broker, directory):
        reader = RecordingCaller()
        await client.run(read(told.token), reader)
        answer = reader.blocks[-2]
        assert isinstance(answer, m.TextBlockEvent)
        assert (answer.text, answer.final) == ("All is well.", True)


async def test_a_worker_killed_right_after_its_ack_has_run_nothing(
    broker: Broker, caller: Connection, directory: Path
) -> None:
    # The ack itself may be lost with its worker: then the first message is waited for in vain.
    limits = replace(LIMITS, first_message_s=1.0)
    client = AgentClient(caller, "billing", "terminal", limits=limits)
    fault = {"FISK_AI_FAULT": "task.acked=kill"}
    async with worker(broker, directory, fault) as process:
        with pytest.raises((IncompleteTaskError, AgentUnavailableError)):
            await client.run(prompt("Well?"), RecordingCaller())
        assert await process.wait() == -9
    assert not list((directory / "state").rglob("t-*.json"))


ASKING = """\
harness: {human_in_the_loop: {enabled: true}}
expose: {agent: {a2a: {prompts: {elicit: true, elicit_max: 50ms}}}}
"""
QUESTIONS = """\
turns:
  - call:
      - {tool: ask_human_confirm, input: {question: "Go?"}}
      - {tool: ask_human_input, input: {question: "Where?"}}
  - say: "Gone there."
"""


@pytest.fixture
def asking(directory: Path) -> Path:
    """Make the agent one that asks and does not wait long."""
    with (directory / "agent.yaml").open("a") as config:
        config.write(ASKING)
    (directory / "script.yaml").write_text(QUESTIONS)
    return directory


async def deferred(client: AgentClient) -> tuple[str, list[m.AnyQuestion]]:
    """Run to questions that nobody answers; returns the token and what was asked."""
    caller = absent()
    end = await client.run(prompt("Go"), caller)
    assert code_of(end) == "deferred"
    return caller.token, caller.questions


def answers(questions: list[m.AnyQuestion]) -> tuple[m.Answer, m.Answer]:
    confirm, text = (question.tool_use_id for question in questions)
    return (
        m.Answer(tool_use_id=confirm, kind="confirm", confirmed=True),
        m.Answer(tool_use_id=text, kind="input", value="north"),
    )


async def test_an_answer_counts_after_the_worker_that_asked_was_killed(
    broker: Broker, caller: Connection, asking: Path
) -> None:
    client = AgentClient(caller, "billing", "terminal", limits=LIMITS)
    async with worker(broker, asking, mode=()) as process:
        token, questions = await deferred(client)
        process.kill()
        await process.wait()
    first, second = answers(questions)
    async with worker(broker, asking, mode=()) as process:
        assert code_of(await client.run(answer(token, first), RecordingCaller())) == "deferred"
        process.kill()
        await process.wait()
    async with worker(broker, asking, mode=()):
        again = await client.run(answer(token, first), RecordingCaller())
        assert code_of(again) == "already_answered"
        end = await client.run(answer(token, second), RecordingCaller())
        assert text_of(end) == "Gone there."


async def test_two_workers_of_one_store_take_answers_for_each_other(
    broker: Broker, caller: Connection, asking: Path
) -> None:
    client = AgentClient(caller, "billing", "terminal", limits=LIMITS)
    async with worker(broker, asking, mode=()), worker(broker, asking, mode=()):
        parked = [await deferred(client) for _ in range(4)]
        for token, questions in parked:
            first, second = answers(questions)
            assert code_of(await client.run(answer(token, first), RecordingCaller())) == "deferred"
            end = await client.run(answer(token, second), RecordingCaller())
            assert text_of(end) == "Gone there."
