"""A terminal that talks to an agent which others host, over a NATS context."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator

import pytest

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, Inbound
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.command import Agent, Terminal
from fisk_ai.testing.workshop import Types, Workshop

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90)]

SERVE = ("--no-operator",)
THERE = ("--nats-context", "fleet", "--identity", "watchman")
SAY_TWICE = "turns: [{say: First.}, {say: Second.}]\n"
HELD = "turns:\n  - call: [{tool: hold, input: {}}, {tool: report, input: {}}]\n  - say: done\n"


@pytest.fixture
async def person(fleet: Workshop, broker: Broker, js: JetStream) -> AsyncIterator[Agent]:
    """Somebody at a terminal elsewhere: their directory holds a context and nothing else."""
    home = fleet.directory / "elsewhere"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(fleet.directory)}
    fleet.write_context("fleet", broker)
    somebody = Agent(home, fleet.application, environ)
    yield somebody
    somebody.close()


def _token(said: str) -> str:
    found = re.search(r"--identity watchman --resume (\w+)", said)
    assert found, said
    return found[1]


async def test_an_agent_elsewhere_answers_and_the_way_to_go_on_is_told(
    fleet: Workshop, person: Agent, runs: StreamStore, fleet_types: Types
) -> None:
    fleet.write("script.yaml", "turns:\n  - call: [{tool: report, input: {}}]\n  - say: Well.\n")
    await fleet.start(*SERVE)
    done = await fleet_types("run", *THERE, "are", "the", "nodes", "well", "--tool-output")
    assert (done.code, done.out) == (0, "Well.\n")
    assert "-> report()" in done.err
    assert "3 nodes, none failed" in done.err
    (row,) = await runs.list(Filter())
    assert row.run_id == session_id_for_token("watchman", _token(done.err))
    assert f"Run summary: session={row.run_id} model=test-model llm_calls=2" in done.err
    assert "resume with: fisk-ai run --nats-context fleet --identity watchman --resume" in done.err


async def test_a_follow_up_is_answered_by_another_worker_after_the_first_was_killed(
    fleet: Workshop, person: Agent, runs: StreamStore
) -> None:
    fleet.write("script.yaml", SAY_TWICE)
    first = await fleet.start(*SERVE)
    terminal = Terminal(person, "run", *THERE, "one", shows_output=True)
    terminal.wait_input()
    first.process.send_signal(signal.SIGKILL)
    await first.ended()
    await fleet.start(*SERVE)
    terminal.type("two\n")
    terminal.wait_input(2)
    terminal.type("/exit\n")
    done = terminal.end()
    assert done.status == 0
    (row,) = await runs.list(Filter())
    assert row.status == "completed"
    state = await runs.load(row.run_id)
    assert [m.role for m in state.messages] == ["user", "assistant", "user", "assistant"]


async def test_a_question_is_answered_at_the_terminal(fleet: Workshop, person: Agent) -> None:
    fleet.mend("prompts: {}", "prompts: {elicit: true}")
    fleet.mend("harness:\n", "harness:\n  human_in_the_loop: {enabled: true}\n")
    fleet.write(
        "script.yaml",
        "turns:\n  - call: [{tool: ask_human_select, input: {question: 'Which?', options: [red,"
        " blue]}}]\n  - say: Blue it is.\n",
    )
    await fleet.start(*SERVE)
    terminal = Terminal(person, "run", *THERE, "--no-tui", "paint it")
    terminal.wait_shown("Which?\n  1) red\n  2) blue\nanswer: ")
    terminal.type("2\n")
    done = terminal.end()
    assert (done.status, done.out) == (0, "Blue it is.\n")


async def test_an_interrupt_parks_the_run_there_and_a_resume_by_its_token_goes_on(
    fleet: Workshop, person: Agent, caller: Connection
) -> None:
    fleet.write("script.yaml", HELD)
    asked = asyncio.Event()

    async def see(_: Inbound) -> None:
        asked.set()

    await caller.watch("choria.fisk-ai.cancel.watchman.*", see)
    await fleet.start(*SERVE)
    held = person.start("run", *THERE, "go")
    held.wait_said("-> hold()")
    held.signal(signal.SIGINT)
    held.wait_said("asked the run to stop at its next boundary")
    await asyncio.wait_for(asked.wait(), 10)
    fleet.gate.touch()
    parked = held.end()
    assert parked.status == 0, parked.err
    resumed = person.run("run", *THERE, "--resume", _token(parked.err))
    assert (resumed.status, resumed.out) == (0, "done\n"), resumed.err
    assert "--- resuming ---" in resumed.err
    assert fleet.application.count("hold") == 1


async def test_whoever_leaves_detaches_and_the_work_goes_on(
    fleet: Workshop, person: Agent, runs: StreamStore
) -> None:
    fleet.write("script.yaml", HELD)
    await fleet.start(*SERVE)
    held = person.start("run", *THERE, "go")
    held.wait_said("-> hold()")
    held.process.kill()
    held.process.wait()
    fleet.gate.touch()
    (row,) = await runs.list(Filter())
    async with asyncio.timeout(20):
        while (await runs.load(row.run_id)).status != "completed":  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.05)
    assert fleet.application.count("report") == 1


async def test_nobody_there_is_one_sentence_with_the_command_that_probes(
    fleet: Workshop, person: Agent, fleet_types: Types
) -> None:
    done = await fleet_types("run", *THERE, "hello")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        'fisk-ai: error: no agent answering as "watchman" on NATS context "fleet": check the '
        "identity and that it is running there, which 'fisk-ai discover --nats-context fleet "
        "watchman' probes directly\n"
    )


async def test_a_token_that_the_agent_does_not_know_is_refused_by_it(
    fleet: Workshop, person: Agent
) -> None:
    fleet.write("script.yaml", SAY_TWICE)
    await fleet.start(*SERVE)
    done = person.run("run", *THERE, "--resume", "nobody")
    assert done.status == 1
    assert "the agent has no conversation by that name" in done.err
    assert "resume with" not in done.err


async def test_the_identity_of_a_configuration_is_addressed_and_exported_variables_fail_nothing(
    fleet: Workshop, person: Agent
) -> None:
    fleet.write("script.yaml", SAY_TWICE)
    await fleet.start(*SERVE)
    config = str(fleet.directory / "agent.yaml")
    exported = {"ANTHROPIC_API_KEY": "k", "VERBOSE": "1", "HTTP_DEBUG": "1", "NO_TELEMETRY": "1"}
    words = ("--nats-context", "fleet", "--config", config, "go")
    done = person.run("run", *words, environ=exported)
    assert (done.status, done.out) == (0, "First.\n"), done.err
    assert not (person.home / "http-debug.log").exists()


async def test_a_silent_holder_keeps_its_session_until_an_operator_takes_it_over(
    fleet: Workshop, person: Agent, broker: Broker, runs: StreamStore
) -> None:
    fleet.write("script.yaml", HELD)
    frozen = await fleet.start(*SERVE)
    held = person.start("run", *THERE, "go")
    held.wait_said("-> hold()")
    frozen.process.send_signal(signal.SIGSTOP)
    fleet.gate.touch()
    (row,) = await runs.list(Filter())
    here = (
        "run",
        "--no-tui",
        "--resume",
        row.run_id,
        "--config",
        str(fleet.directory / "agent.yaml"),
    )
    url = {"FISK_AI_NATS_URL": fleet.url}
    fleet.mend("identity:", "nats_context: fleet\nidentity:")
    try:
        kept = person.run(*here, environ=url)
        assert kept.status == 1
        assert "another run holds this conversation" in kept.err, kept.err
        taken = person.run(*here, "--take-over", environ=url)
        assert (taken.status, taken.out) == (0, "done\n"), taken.err
    finally:
        frozen.process.send_signal(signal.SIGCONT)
    assert (await runs.load(row.run_id)).status == "completed"
