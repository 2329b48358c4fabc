"""Turns of a thread, from the queue to the terminal in the reply stream."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable.reading import ReadSet
from fisk_ai.bus.connection import Inbound
from fisk_ai.sessions.records import Claim, Meta, User
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.gateway import text_of
from fisk_ai.testing.prompts import Hold, model
from fisk_ai.testing.tools import FakeTool
from fisk_ai.testing.turns import THREAD, Fleet

pytestmark = pytest.mark.integration


def numbers(found: ReadSet) -> list[int]:
    return [message.sequence for message in found.messages]


async def test_a_turn_is_answered_with_a_complete_set_in_the_reply_stream(fleet: Fleet) -> None:
    worker = await fleet.serve(model(call(("c1", "ls")), say("two files")))
    turn = fleet.gateway.turn(THREAD, "slack:T1:C1:1", "list", caller="ada/U1")
    await fleet.gateway.publish(turn)
    found = await fleet.gateway.ended(turn)
    assert text_of(found) == "two files"
    assert isinstance(found.messages[0], m.Ack)
    assert (found.messages[0].accepted, found.messages[0].conversation_token) == (True, "")
    assert numbers(found) == list(range(1, len(found.messages) + 1))
    assert (found.missed, found.restarts) == (0, 0)
    await fleet.settled()
    meta = (await fleet.payloads(turn))[0]
    assert isinstance(meta, Meta)
    assert (meta.request, meta.caller, meta.prompt) == (turn.message.request, "ada/U1", "list")
    assert len(worker.model.requests) == 2


async def test_the_next_turn_of_a_thread_goes_on_with_its_session(fleet: Fleet) -> None:
    worker = await fleet.serve(model(say("one"), say("two")))
    first = fleet.gateway.turn(THREAD, "slack:T1:C1:1", "first")
    second = fleet.gateway.turn(THREAD, "slack:T1:C1:2", "second")
    for turn, text in ((first, "one"), (second, "two")):
        await fleet.gateway.publish(turn)
        assert text_of(await fleet.gateway.ended(turn)) == text
    users = [p for p in await fleet.payloads(second) if isinstance(p, User)]
    assert [user.request for user in users] == [second.message.request]
    assert len(worker.model.requests[-1].messages) == 3


async def test_an_event_that_is_published_twice_is_one_turn(fleet: Fleet) -> None:
    worker = await fleet.serve(model(say("one")))
    turn = fleet.gateway.turn(THREAD, "slack:T1:C1:1")
    await fleet.gateway.publish(turn, turn)
    await fleet.gateway.ended(turn)
    await fleet.settled()
    assert len(worker.model.requests) == 1


async def test_threads_are_answered_at_the_same_time(fleet: Fleet) -> None:
    await fleet.serve(model(*(say("done") for _ in range(6))))
    turns = [
        fleet.gateway.turn(("T1", "C1", str(number)), f"slack:T1:C1:{number}")
        for number in range(6)
    ]
    await fleet.gateway.publish(*turns)
    for turn in turns:
        assert text_of(await fleet.gateway.ended(turn)) == "done"
    assert len({turn.session for turn in turns}) == 6


async def test_a_session_of_a_turn_is_claimed_in_the_name_of_its_request(fleet: Fleet) -> None:
    await fleet.serve(model(say("one"), say("two")))
    first = fleet.gateway.turn(THREAD, "slack:T1:C1:1")
    second = fleet.gateway.turn(THREAD, "slack:T1:C1:2")
    await fleet.gateway.publish(first)
    await fleet.gateway.ended(first)
    await fleet.gateway.publish(second)
    await fleet.gateway.ended(second)
    claims = [p.by for p in await fleet.payloads(second) if isinstance(p, Claim)]
    assert claims == [second.message.request]


async def test_a_channel_of_status_is_told_calls_without_their_input_and_no_results(
    fleet: Fleet,
) -> None:
    await fleet.serve(model(call(("c1", "ls", b'{"path": "/secret"}')), say("done")))
    turn = fleet.gateway.turn(THREAD, "slack:T1:C1:1")
    await fleet.gateway.publish(turn)
    found = await fleet.gateway.ended(turn)
    blocks = [each.block for each in found.messages if isinstance(each, m.EventMessage)]
    kinds = [type(block).__name__.removesuffix("BlockEvent") for block in blocks]
    assert kinds == ["Status", "ToolCall", "Text"]
    assert b"secret" not in b"".join(reply.stored.body for reply in fleet.gateway.replies_of(turn))


async def test_a_worker_that_drains_leaves_its_turns_to_the_next_one(fleet: Fleet) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    first = await fleet.serve(model(call(("c1", "hold"))), tools=[tool])
    turn = fleet.gateway.turn(THREAD, "slack:T1:C1:1")
    await fleet.gateway.publish(turn)
    await asyncio.wait_for(hold.begun.wait(), 10)
    draining = asyncio.create_task(first.drain())
    await asyncio.sleep(0)
    hold.go.set()
    await draining
    await fleet.serve(model(say("done")), tools=[tool])
    found = await fleet.gateway.ended(turn)
    assert text_of(found) == "done"
    assert found.restarts == 1
    assert len(tool.calls) == 1


async def test_fragments_pass_by_and_are_stored_nowhere(fleet: Fleet) -> None:
    await fleet.serve(model(say("two files")))
    turn = fleet.gateway.turn(THREAD, "slack:T1:C1:1")
    wanted = structs.replace(turn.message, deltas=True)
    asked = replace(turn, message=wanted)
    heard: list[bytes] = []

    async def hear(inbound: Inbound) -> None:
        heard.append(inbound.body)

    await fleet.js.connection.watch(turn.delta_subject, hear)
    await fleet.gateway.publish(asked)
    found = await fleet.gateway.ended(asked)
    (fragment,) = [codec.decode(body) for body in heard]
    assert isinstance(fragment, m.EventMessage)
    assert isinstance(fragment.block, m.TextDeltaBlockEvent)
    assert (fragment.sequence, fragment.block.text) == (0, "two files")
    stored = [each.block for each in found.messages if isinstance(each, m.EventMessage)]
    assert not any(isinstance(block, m.TextDeltaBlockEvent) for block in stored)
