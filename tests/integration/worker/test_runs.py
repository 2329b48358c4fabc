"""Runs of a real worker: a prompt is answered, and what each kind of stop does to one under way."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable

import pytest

from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import (
    ErrorTerminal,
    RequestPrompt,
    RequestResume,
    Result,
    Sender,
    request_header,
)
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.owner import OWNER_DIED
from fisk_ai.errors import AgentUnavailableError
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.workshop import Worker, Workshop

pytestmark = pytest.mark.integration

PROMPT = "are the nodes well, says the confidential prompt"


@pytest.fixture
def agent(caller: Connection) -> AgentClient:
    return AgentClient(caller, "watchman", "tester")


@pytest.fixture
def handlers() -> GaplessCaller:
    return GaplessCaller()


@pytest.fixture
async def under_way(
    workshop: Workshop, agent: AgentClient, handlers: GaplessCaller, held_script: Callable[[], None]
) -> AsyncIterator[tuple[Worker, asyncio.Task[TaskEnd]]]:
    """A worker whose run is in the middle of a command that waits for the gate."""
    held_script()
    worker = await workshop.start()
    run = asyncio.create_task(agent.run(_prompt(), handlers))
    await asyncio.wait_for(handlers.calling.wait(), 10)
    yield worker, run
    run.cancel()
    await asyncio.wait({run})


UnderWay = tuple[Worker, asyncio.Task[TaskEnd]]


def _prompt() -> RequestPrompt:
    return RequestPrompt(**request_header(Sender(name="tester"), "watchman"), prompt=PROMPT)


def _code(end: TaskEnd) -> str:
    assert isinstance(end.terminal, ErrorTerminal)
    return end.terminal.code


async def _takes_no_more(agent: AgentClient) -> None:
    """Wait until the worker has begun to stop."""
    with contextlib.suppress(AgentUnavailableError):
        async with asyncio.timeout(5):
            while True:
                await agent.card(1)


async def test_a_prompt_runs_its_command_and_is_answered(
    workshop: Workshop, agent: AgentClient, handlers: GaplessCaller
) -> None:
    worker = await workshop.start()

    end = await asyncio.wait_for(agent.run(_prompt(), handlers), 10)

    assert isinstance(end.terminal, Result)
    assert end.terminal.text == "All is well."
    assert workshop.application.count("report") == 1
    worker.disown()
    assert await worker.ended() == 0


async def test_what_is_logged_of_a_run_holds_no_content(
    workshop: Workshop, agent: AgentClient, handlers: GaplessCaller
) -> None:
    script = str(workshop.directory / "script.yaml")
    worker = await workshop.start("--hosted", "--verbose", "--script", script)
    await asyncio.wait_for(agent.run(_prompt(), handlers), 10)
    worker.disown()
    await worker.ended()

    assert b"model call" in worker.stderr
    assert b"tool call" in worker.stderr
    assert b"report" in worker.stderr
    assert b"confidential" not in worker.stderr
    assert b"none failed" not in worker.stderr
    assert b"All is well" not in worker.stderr
    assert handlers.token.encode() not in worker.stderr


@pytest.mark.parametrize("how", ["signal", "owner", "killed owner"])
async def test_a_stop_parks_a_run_before_the_next_command_of_its_batch(
    workshop: Workshop, agent: AgentClient, under_way: UnderWay, how: str
) -> None:
    worker, run = under_way

    if how == "signal":
        worker.process.send_signal(signal.SIGTERM)
    else:
        worker.disown()
    if how == "killed owner":  # the kernel tells of each of its threads that dies in turn
        worker.process.send_signal(OWNER_DIED)
        worker.process.send_signal(OWNER_DIED)
    await _takes_no_more(agent)
    workshop.gate.touch()

    assert _code(await asyncio.wait_for(run, 10)) == "suspended"
    assert await worker.ended() == 0
    assert workshop.application.count("report") == 0


async def test_a_parked_run_goes_on_in_the_next_worker_without_repeating_its_command(
    workshop: Workshop, agent: AgentClient, handlers: GaplessCaller, under_way: UnderWay
) -> None:
    worker, run = under_way
    worker.process.send_signal(signal.SIGTERM)
    await _takes_no_more(agent)
    workshop.gate.touch()
    await asyncio.wait_for(run, 10)
    await worker.ended()

    await workshop.start()
    resume = RequestResume(
        **request_header(Sender(name="tester"), "watchman"), conversation_token=handlers.token
    )
    end = await asyncio.wait_for(agent.run(resume, GaplessCaller()), 10)

    assert isinstance(end.terminal, Result)
    assert end.terminal.text == "All is well."
    assert workshop.application.count("hold") == 1
    assert workshop.application.count("report") == 1


async def test_the_second_signal_cancels_a_run_and_says_so(under_way: UnderWay) -> None:
    worker, run = under_way

    worker.process.send_signal(signal.SIGTERM)
    worker.process.send_signal(signal.SIGINT)

    assert _code(await asyncio.wait_for(run, 10)) == "canceled"
    assert await worker.ended() == 0


async def test_a_worker_whose_broker_is_gone_ends_in_order(
    workshop: Workshop, broker: Broker, under_way: UnderWay
) -> None:
    worker, _ = under_way
    broker.process.kill()
    await broker.process.wait()

    worker.process.send_signal(signal.SIGTERM)
    workshop.gate.touch()

    assert await worker.ended() == 0
    assert b"Traceback" not in worker.stderr


async def test_a_run_nobody_waits_for_ends_soon_after_its_owner(under_way: UnderWay) -> None:
    worker, run = under_way

    worker.disown()

    assert _code(await asyncio.wait_for(run, 14)) == "canceled"
    assert await worker.ended() == 0
