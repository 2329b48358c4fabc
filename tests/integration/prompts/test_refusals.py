"""What a worker does not take: no request, too much of it, or a conversation that is not free."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import UNSET

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.errors import ConfigError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.broker import connected
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import (
    Bench,
    Hold,
    error_of,
    header,
    model,
    prompt,
    read,
    resume,
    text_of,
)
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration


async def sent(connection: Connection, request: m.AnyRequest) -> list[m.AnyMessage]:
    """Send a request past the client and return its reply set."""
    inbox = await connection.open_inbox()
    await connection.publish_request(
        subjects.task("billing"), codec.encode(request), reply=inbox.subject
    )
    received: list[m.AnyMessage] = []
    while not received or not isinstance(received[-1], m.Result | m.ErrorTerminal):
        message = await inbox.next(5)
        assert message is not None
        received.append(codec.decode(message.body))
    await inbox.close()
    return received


TASK, DISCOVERY = subjects.task("billing"), subjects.discovery("billing")
TOO_LARGE = b"x" * (codec.MESSAGE_LIMIT + 1)
CANCEL = codec.encode(m.Cancel(**header()))


@pytest.mark.parametrize(
    ("subject", "body", "complaint"),
    [
        (TASK, b"", "the request is not a valid v1 message"),
        (TASK, TOO_LARGE, "the request is 786433 bytes, over the"),
        (TASK, CANCEL, 'this path carries requests: got "io.choria.fisk-ai.v1.cancel"'),
        (
            TASK,
            codec.encode(prompt()).replace(b'"Hi"', b'""'),
            "the request is not a valid v1 message",
        ),
        (DISCOVERY, b"", "invalid request: "),
        (DISCOVERY, TOO_LARGE, "request exceeds 786432 bytes"),
        (
            DISCOVERY,
            CANCEL,
            'unexpected message protocol: got "io.choria.fisk-ai.v1.cancel", want',
        ),
    ],
)
async def test_what_is_no_request_is_refused_before_anything_is_acknowledged(
    bench: Bench, subject: str, body: bytes, complaint: str
) -> None:
    await bench.serve(model())
    reply = await bench.caller.request(subject, body, timeout_s=5)
    assert reply.refusal is not None
    assert (reply.refusal[0], reply.body) == ("400", b"")
    assert reply.refusal[1].startswith(complaint)


async def test_a_worker_refuses_more_prompts_than_it_has_slots(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[tool])
    client, caller = bench.client(), RecordingCaller()
    first = asyncio.create_task(client.run(prompt(), caller))
    await hold.begun.wait()
    refused = RecordingCaller()
    end = await client.run(prompt(), refused)
    assert (error_of(end).code, error_of(end).stop_reason) == ("capacity", "error")
    assert error_of(end).error == "this worker is running its maximum of 1 prompts"
    assert (refused.acks[0].accepted, refused.acks[0].reason) == (False, error_of(end).error)
    assert [refused.acks[0].sequence, error_of(end).sequence] == [1, 2]
    hold.go.set()
    assert text_of(await first) == "Fine."


async def test_a_request_and_a_conversation_run_once_at_a_time(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    answers = (say("one"), call(("u1", "ls")), say("two"))
    await bench.serve(model(*answers), tools=[tool], prompts={"workers": 4})
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    request = prompt("go", token=token)
    first = asyncio.create_task(client.run(request, RecordingCaller()))
    await hold.begun.wait()
    again = prompt(request=request.request)
    received = await sent(bench.caller, again)
    assert [each.code for each in received if isinstance(each, m.ErrorTerminal)] == [
        "duplicate_request"
    ]
    busy = await client.run(prompt("me too", token=token), RecordingCaller())
    assert error_of(busy).code == "conversation_busy"
    hold.go.set()
    assert text_of(await first) == "two"


async def test_a_token_nobody_knows_is_told_so(bench: Bench) -> None:
    await bench.serve(model())
    client = bench.client()
    requests: list[m.AnyRequest] = [
        prompt(token="T9"),
        resume("T9"),
        read("T9"),
    ]
    for request in requests:
        end = await client.run(request, RecordingCaller())
        assert error_of(end).code == "unknown_conversation"


async def test_a_conversation_held_elsewhere_is_busy_and_stays_untouched(bench: Bench) -> None:
    serving = await bench.serve(model(say("one"), say("two")))
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    session = session_id_for_token("billing", token)
    journal = await bench.store.open(session)
    before = journal.last_seq()
    busy = await client.run(prompt("more", token=token), RecordingCaller())
    assert error_of(busy).code == "conversation_busy"
    assert error_of(busy).usage is UNSET  # it counted nothing, and zeros would look like totals
    assert journal.last_seq() == before
    await journal.close()
    assert text_of(await client.run(prompt("more", token=token), RecordingCaller())) == "two"
    assert len(serving.model.requests) == 2


async def test_a_turn_that_runs_on_another_worker_keeps_its_conversation(
    bench: Bench, broker: Broker
) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    answers = (say("one"), call(("u1", "ls")), say("two"))
    first = await bench.serve(model(*answers), tools=[tool])
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    run = asyncio.create_task(client.run(prompt("go", token=token), RecordingCaller()))
    await hold.begun.wait()
    async with connected(broker, name="worker two") as connection:
        second = await bench.serve(model(), connection=connection)
        codes: list[str] = []
        while "conversation_busy" not in codes and len(codes) < 200:
            end = await client.run(prompt("me too", token=token), RecordingCaller())
            codes.append(error_of(end).code)
        assert set(codes) <= {"capacity", "conversation_busy"}
        assert codes[-1] == "conversation_busy"
        hold.go.set()
        assert text_of(await run) == "two"
        await second.server.release()
        await second.ended()
    assert (len(first.model.requests), second.model.requests) == (3, [])


async def test_a_finished_conversation_cannot_be_resumed(bench: Bench) -> None:
    serving = await bench.serve(model(say("Fine.")))
    client = bench.client()
    end = await client.run(prompt(), RecordingCaller())
    assert error_of(await client.run(resume(end.token), RecordingCaller())).code == "failed"
    assert len(serving.model.requests) == 1


async def test_a_channel_without_prompts_is_not_built(bench: Bench) -> None:
    with pytest.raises(ConfigError, match=r"expose\.agent\.a2a\.prompts"):
        await bench.channel(bench.config(expose={}))


async def test_an_agent_whose_card_breaks_a_limit_is_not_built(bench: Bench) -> None:
    with pytest.raises(ConfigError, match="icon_url"):
        await bench.channel(bench.config(icon_url="https:///face.png"))
