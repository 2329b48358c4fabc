"""What callers must not achieve, whatever they send and wherever they want it answered."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from msgspec import structs

from agent_worker.channels import task
from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import TaskEnd
from fisk_ai.bus.connection import Connection, ConnectOptions, Inbound, connect
from fisk_ai.errors import BusError, ProtocolError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.golden import GOLDEN
from fisk_ai.testing.mutations import mutated
from fisk_ai.testing.prompts import (
    GATED,
    Bench,
    Hold,
    code_of,
    header,
    model,
    prompt,
    read,
    resume,
    text_of,
)
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration

BODIES = [codec.encode(message) for message, _, _ in GOLDEN]
FOREIGN = (
    "fisk.session.billing.t-1",
    "choria.fisk-ai.reply.billing.slack.t.r",
    "choria.fisk-ai.task.billing",
    "_INBOX",
    "",
)


class Person:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, question: m.AnyQuestion) -> str:
        await asyncio.wait_for(self.go.wait(), 15)
        return "once"


@dataclass(slots=True)
class Asking:
    """A run that waits for its caller's answer."""

    request: m.RequestPrompt
    caller: RecordingCaller
    person: Person
    run: asyncio.Task[TaskEnd]

    def subjects(self) -> list[str]:
        """Return all that its worker listens on."""
        tag = self.request.request
        return [
            subjects.task("billing"),
            subjects.discovery("billing"),
            subjects.cancel("billing", tag),
            subjects.elicit("billing", tag),
        ]


async def asking(bench: Bench) -> Asking:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Gone.")), tools=[tool], prompts={"elicit": True}
    )
    person, request = Person(), prompt()
    caller = RecordingCaller(person=person)
    run = asyncio.create_task(bench.client().run(request, caller))
    await asyncio.wait_for(caller.asked.wait(), 5)
    return Asking(request, caller, person, run)


def is_taken(body: bytes) -> bool:
    try:
        codec.decode(body)
    except ProtocolError:
        return False
    return True


async def test_no_mutated_message_harms_a_worker_on_any_of_its_subjects(bench: Bench) -> None:
    found = await asking(bench)
    drawn: list[bytes] = []

    @settings(
        max_examples=60,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(mutated(BODIES))
    def draw(body: bytes) -> None:
        drawn.append(body)

    draw()
    refused = [body for body in drawn if not is_taken(body)]
    assert len(refused) > 20
    for subject in found.subjects():
        replies = await asyncio.gather(
            *(bench.caller.request(subject, body, timeout_s=10) for body in refused)
        )
        for reply in replies:
            assert reply.refusal is not None
            assert (reply.refusal[0], reply.body) == ("400", b"")
    found.person.go.set()
    assert text_of(await found.run) == "Gone."
    assert found.caller.gaps == []
    assert (await bench.client().card(5)).name == "billing"


@pytest.mark.parametrize("reply", FOREIGN)
async def test_nothing_is_read_that_wants_its_answer_where_none_may_go(
    bench: Bench, reply: str
) -> None:
    found = await asking(bench)
    overheard = await bench.caller.open_inbox()
    name = found.caller.questions[0].question_id
    bodies = (
        codec.encode(prompt()),
        codec.encode(m.DiscoveryRequest(**header())),
        codec.encode(m.Cancel(**header(found.request.request))),
        codec.encode(
            m.ElicitReplyApprove(**header(found.request.request), question_id=name, choice="no")
        ),
    )
    for subject, body in zip(found.subjects(), bodies, strict=True):
        if reply:
            await bench.caller.publish_request(subject, body, reply=reply)
        else:
            await bench.caller.publish(subject, body)
    await bench.caller.flush()
    await bench.client().card(5)
    found.person.go.set()
    assert text_of(await found.run) == "Gone."
    assert await overheard.next(0) is None
    (serving,) = bench.started
    assert len(serving.model.requests) == 2


async def refusal_of(connection: Connection, request: m.AnyRequest, old: str, new: str) -> str:
    """Send ``request`` with one text of it replaced, and return the status it is refused with."""
    body = codec.encode(request).replace(old.encode(), new.encode())
    reply = await connection.request(subjects.task("billing"), body, timeout_s=5)
    return reply.refusal[0] if reply.refusal is not None else ""


async def test_a_request_tag_is_as_long_as_a_subject_may_hold(bench: Bench) -> None:
    hold = Hold()
    await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls", effect=hold)]
    )
    request, client = prompt(request="r" * 64), bench.client()
    assert await refusal_of(bench.caller, request, "r" * 64, "r" * 65) == "400"
    run = asyncio.create_task(client.run(request, RecordingCaller()))
    await hold.begun.wait()
    assert await client.cancel(request.request)
    hold.go.set()
    assert code_of(await run) == "suspended"


async def test_a_token_is_no_path_and_has_an_end(bench: Bench) -> None:
    serving = await bench.serve(model())
    longest = "t" * 128
    end = await bench.client().run(resume(longest), RecordingCaller())
    assert code_of(end) == "unknown_conversation"
    for token in ("t" * 129, "../../etc/passwd", "", "a.b", "a b", "*", ">", "t\\n"):
        for request in (prompt(token=longest), resume(longest), read(longest)):
            assert await refusal_of(bench.caller, request, longest, token) == "400"
    assert serving.model.requests == []


async def test_the_conversation_of_a_header_names_no_session(bench: Bench) -> None:
    await bench.serve(model(say("one"), say("two")))
    client = bench.client()
    first = await client.run(prompt(), RecordingCaller())
    second = await client.run(prompt(conversation=first.token), RecordingCaller())
    assert text_of(second) == "two"
    assert second.token != first.token
    for token in (first.token, second.token):
        session = session_id_for_token("billing", token)
        assert (await bench.store.load(session)).counters.llm_calls == 1


@pytest.mark.parametrize("over", [0, 1])
async def test_a_request_of_the_largest_size_is_served_and_one_byte_more_is_not(
    bench: Bench, over: int
) -> None:
    await bench.serve(model(say("Read.")))
    request = prompt(context="x")
    room = codec.MESSAGE_LIMIT - len(codec.encode(request)) + 1
    if not over:
        large = structs.replace(request, context="x" * room)
        assert len(codec.encode(large)) == codec.MESSAGE_LIMIT
        assert text_of(await bench.client().run(large, RecordingCaller())) == "Read."
        return
    grown = '"context":"' + "x" * (room + 1)
    assert await refusal_of(bench.caller, request, '"context":"x', grown) == "400"


PERMISSIONS = """\
listen: "127.0.0.1:-1"
authorization: {
  users: [
    {user: caller, password: c}
    {user: worker, password: w, permissions: {
      publish: "_INBOX.>"
      subscribe: ["_INBOX.>", "$SRV.>", "choria.fisk-ai.task.*", "choria.fisk-ai.discovery.*"]
    }}
  ]
}
"""


async def test_a_worker_that_may_not_listen_for_cancels_ends_with_a_fault(
    bench: Bench, tmp_path: Path
) -> None:
    async with running_server(tmp_path / "server", PERMISSIONS) as url:
        worker = await connect(ConnectOptions(url, "worker", user="worker", password="w"))
        caller = await connect(ConnectOptions(url, "caller", user="caller", password="c"))
        serving = await bench.serve(model(say("Fine.")), connection=worker)
        body = codec.encode(prompt())
        inbox = await caller.open_inbox()
        await caller.publish_request(subjects.task("billing"), body, reply=inbox.subject)
        with pytest.raises(BusError, match=r"choria\.fisk-ai\.cancel"):
            await serving.ended()
        await caller.drop()
        await worker.drop()


async def test_a_flood_of_junk_leaves_a_worker_that_serves(bench: Bench) -> None:
    serving = await bench.serve(model(say("Still here.")))
    inbox = await bench.caller.open_inbox()
    for _ in range(1500):
        await bench.caller.publish_request(subjects.task("billing"), b"junk", reply=inbox.subject)
    await inbox.close()
    assert text_of(await bench.client().run(prompt(), RecordingCaller())) == "Still here."
    assert not serving.server.draining()


async def test_a_flood_of_requests_that_nobody_can_answer_is_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def send(*_: object) -> None:
        raise AssertionError

    deaf = Inbound(b"{}", {}, "choria.fisk-ai.discovery.flooded", "", send)
    with caplog.at_level(logging.INFO, "agent_worker.requests"):
        for _ in range(100):
            assert await task.read(deaf, "the request") is None
    assert len(caplog.records) == 1
    assert "choria.fisk-ai.discovery.flooded" in caplog.text
