"""``fisk-ai turn`` as it is typed, against dead letters that real workers left."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable import dead
from fisk_ai.a2a.durable.turn import Sent, Turn, request_of
from fisk_ai.bus.broker import Broker
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.prompts import Hold, model
from fisk_ai.testing.tools import FakeTool
from fisk_ai.testing.turns import IDENTITY, THREAD, Fleet
from fisk_ai.testing.workshop import Typed, typing_in

pytestmark = pytest.mark.integration

CONFIG = """\
identity: billing
system_prompt: be brief
llm: {model: m}
expose: {agent: {slack: {}}}
harness: {sessions: {backend: jetstream, options: {stream: RUNS}}}
"""
Run = Callable[..., Awaitable[Typed]]


@pytest.fixture
def run(tmp_path: Path, broker: Broker) -> Run:
    (tmp_path / "agent.yaml").write_text(CONFIG)
    types = typing_in(tmp_path)

    async def typed(*words: str) -> Typed:
        return await types("turn", *words, FISK_AI_NATS_URL=broker.url_with_credentials)

    return typed


@pytest.fixture
def turn(fleet: Fleet) -> Turn:
    return fleet.gateway.turn(THREAD, "slack:T1:C1:1", "are the \x1b[31mnodes\x1b[0m well")


async def bury(fleet: Fleet, turn: Turn, *, reason: str = "it ended its worker") -> None:
    sent = Sent(codec.encode(turn.message), turn.headers())
    await dead.bury(fleet.js, IDENTITY, "slack", sent, reason=reason, tries=3)


async def test_there_is_nothing_to_list_at_first(fleet: Fleet, run: Run) -> None:
    done = await run("ls")
    assert (done.code, done.out, done.err) == (0, "No dead turns\n", "")


async def test_a_dead_turn_is_listed_with_its_thread_and_reason(
    fleet: Fleet, run: Run, turn: Turn
) -> None:
    await bury(fleet, turn)
    done = await run("ls", "--json")
    (row,) = json.loads(done.out)["turns"]
    assert (row["turn"], row["agent"], row["channel"]) == (turn.event, IDENTITY, "slack")
    assert (row["thread"], row["tries"]) == ("T1/C1/1712.0001", 3)
    assert row["reason"] == "it ended its worker"
    table = await run("ls")
    assert turn.event in table.out
    assert "are the nodes well" in " ".join(table.out.split())
    assert "\x1b" not in table.out + done.out


async def test_a_channel_without_dead_turns_lists_none(fleet: Fleet, run: Run, turn: Turn) -> None:
    await bury(fleet, turn)
    assert (await run("ls", "--channel", "web")).out == "No dead turns\n"


async def test_what_waits_in_the_queue_is_listed_and_stays_there(
    fleet: Fleet, run: Run, turn: Turn
) -> None:
    await fleet.gateway.publish(turn)
    done = await run("ls", "--queued", "--json")
    assert [row["turn"] for row in json.loads(done.out)["turns"]] == [turn.event]
    assert await fleet.queued() == 1


async def test_a_dead_turn_is_shown_with_its_headers_and_its_session(
    fleet: Fleet, run: Run, turn: Turn
) -> None:
    await bury(fleet, turn)
    done = await run("show", turn.event)
    assert done.code == 0
    assert turn.session in done.out
    assert "Session status: none" in " ".join(done.out.split())
    assert "Fisk-AI-Thread: T1%00C1%001712.0001" in done.out
    assert "\x1b" not in done.out


async def test_a_turn_that_was_never_begun_is_retried_as_it_was(
    fleet: Fleet, run: Run, turn: Turn
) -> None:
    await bury(fleet, turn)
    done = await run("retry", turn.event)
    assert (done.code, done.out) == (0, f"retried {turn.event} as {turn.event}#2\n")
    assert (await run("ls")).out == "No dead turns\n"
    await fleet.serve(model(say("they are")))
    again = fleet.gateway.turn(THREAD, f"{turn.event}#2")
    found = await fleet.gateway.ended(again)
    assert isinstance(found.terminal, m.Result)
    assert again.message.request == request_of(f"{turn.event}#2") != turn.message.request


async def test_a_turn_whose_session_has_its_request_is_retried_as_a_resume(
    fleet: Fleet, run: Run, turn: Turn
) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    first = await fleet.serve(model(call(("c1", "hold"))), tools=[tool])
    await fleet.gateway.publish(turn)
    await hold.begun.wait()
    await fleet.gateway.publish(fleet.gateway.stop(turn, "stop"))
    await fleet.one_left()
    hold.go.set()
    await fleet.gateway.ended(turn)
    await fleet.settled()
    await bury(fleet, turn)
    first.model.queue(say("done"))
    assert (await run("retry", turn.event)).code == 0
    again = fleet.gateway.turn(THREAD, f"{turn.event}#2")
    found = await fleet.gateway.ended(again)
    assert isinstance(found.terminal, m.Result)
    assert (await fleet.kinds(turn)).count("User") == 0
    assert len(tool.calls) == 1


async def test_a_letter_survives_a_queue_that_takes_nothing(
    fleet: Fleet, run: Run, turn: Turn
) -> None:
    await bury(fleet, turn)
    await fleet.js.api("STREAM.DELETE.FISK_AI_TURN", {}, dict)
    done = await run("retry", turn.event)
    assert done.code == 1
    assert turn.event in (await run("ls")).out


async def test_what_is_no_turn_cannot_be_retried(fleet: Fleet, run: Run, turn: Turn) -> None:
    sent = Sent(b"{}", turn.headers())
    await dead.bury(fleet.js, IDENTITY, "slack", sent, reason="broken", tries=0)
    done = await run("retry", turn.event)
    assert done.code == 1
    assert "cannot be retried" in done.err
    assert turn.event in (await run("ls")).out


async def test_a_dropped_turn_is_gone(fleet: Fleet, run: Run, turn: Turn) -> None:
    other = fleet.gateway.turn(THREAD, "slack:T1:C1:2")
    await bury(fleet, turn)
    await bury(fleet, other)
    assert (await run("drop", turn.event)).out == f"dropped {turn.event}\n"
    assert (await run("drop", "--older-than", "1h")).out == ""
    unitless = await run("drop", "--older-than", "0")
    assert (unitless.out, "0 has no unit" in unitless.err) == ("", True)
    assert (await run("drop", "--older-than", "0s")).out == f"dropped {other.event}\n"


@pytest.mark.parametrize("verb", ["show", "retry", "drop"])
async def test_a_turn_that_is_not_there_is_refused_with_where_to_look(
    fleet: Fleet, run: Run, verb: str
) -> None:
    done = await run(verb, "nothing")
    assert done.code == 1
    assert "no dead turn \"nothing\"; see 'fisk-ai turn ls'" in done.err


async def test_without_the_streams_the_way_to_make_them_is_named(
    tmp_path: Path, broker: Broker, run: Run
) -> None:
    done = await run("ls")
    assert done.code == 1
    assert "fisk-ai provision" in done.err


async def test_a_letter_is_kept_once_however_often_it_is_written(fleet: Fleet, turn: Turn) -> None:
    await bury(fleet, turn)
    await bury(fleet, turn)
    stream = await fleet.js.streams_of(subjects.dead(IDENTITY, "slack"))
    assert (await fleet.js.stream(stream[0])).messages == 1
