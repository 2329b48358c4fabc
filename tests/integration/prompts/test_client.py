"""A caller reads a reply set to its terminal, and takes nothing else for an end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import AgentClient, ClientLimits, Given, IncompleteTaskError, TaskEnd
from fisk_ai.bus.connection import Connection, ConnectOptions, Inbound, connect
from fisk_ai.errors import (
    AgentUnavailableError,
    BusTimeoutError,
    FiskError,
    ProtocolError,
    ProtocolMismatchError,
    ServiceRefusedError,
)
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import prompt, read

pytestmark = pytest.mark.integration

SHORT = ClientLimits(
    first_message_s=3.0,
    probe_s=0.1,
    idle_s=0.6,
    live_idle_s=0.4,
    refusal_s=0.3,
    lost_s=0.3,
    control_s=1.0,
)
"""For the tests of a limit alone: a machine under load may be silent for as long."""

TEXT = m.TextBlockEvent(text="hello")

Act = Callable[["Worker"], Awaitable[None]]


class Worker:
    """Answers one request with whatever a test wants to send."""

    def __init__(self, connection: Connection, inbound: Inbound, request: m.RequestPrompt) -> None:
        self.connection = connection
        self.inbound = inbound
        self.request = request
        self.sequence = 0

    def header(self) -> m.HeaderFields:
        self.sequence += 1
        return m.reply_header(self.request, "billing", self.sequence)

    async def say(self, message: m.AnyMessage, headers: dict[str, str] | None = None) -> None:
        await self.inbound.respond(codec.encode(message), headers)

    async def ack(self, *, accepted: bool = True, reason: str = "") -> None:
        await self.say(
            m.Ack(**self.header(), accepted=accepted, reason=reason, conversation_token="T1")
        )

    async def event(self, block: m.EventBlock = TEXT) -> None:
        await self.say(m.EventMessage(**self.header(), block=block))

    async def end(self, text: str = "done") -> None:
        result = m.Result(**self.header(), stop_reason="end_turn", text=text)
        await self.say(result, {m.FINAL_HEADER: "true"})

    async def ask(self) -> m.ElicitRequestApprove:
        question = m.ElicitRequestApprove(
            **self.header(), question_id="Q1", tool_use_id="u1", command="rm", display="rm x"
        )
        await self.say(question)
        return question

    async def alive(self) -> None:
        """Listen where a running task takes cancels."""

        async def refuse(inbound: Inbound) -> None:
            await inbound.refuse("400", "the cancel is not a valid v1 message")

        subject = subjects.cancel("billing", self.request.request)
        await self.connection.watch(subject, refuse)


class Agent:
    """Takes requests for ``billing`` and lets the test act as its worker."""

    def __init__(self, worker: Connection, caller: Connection) -> None:
        self.worker = worker
        self.caller = caller

    async def acts(self, act: Act) -> None:
        async def handle(inbound: Inbound) -> None:
            request = codec.decode(inbound.body)
            assert isinstance(request, m.RequestPrompt)
            await act(Worker(self.worker, inbound, request))

        await self.worker.watch(subjects.task("billing"), handle)

    async def run(
        self,
        act: Act,
        caller: RecordingCaller | None = None,
        *,
        limits: ClientLimits | None = None,
        **more: object,
    ) -> TaskEnd:
        await self.acts(act)
        client = AgentClient(self.caller, "billing", "terminal", limits=limits)
        return await client.run(structs.replace(prompt(), **more), caller or RecordingCaller())


@pytest.fixture
def agent(worker: Connection, caller: Connection) -> Agent:
    return Agent(worker, caller)


async def test_nobody_there_is_said_at_once(caller: Connection) -> None:
    client = AgentClient(caller, "billing", "terminal")
    with pytest.raises(AgentUnavailableError, match="no agent answers"):
        await asyncio.wait_for(client.run(prompt(), RecordingCaller()), 5)
    with pytest.raises(AgentUnavailableError):
        await client.card(5)


async def test_a_worker_that_never_speaks_may_have_taken_the_request(agent: Agent) -> None:
    async def silent(worker: Worker) -> None:
        await asyncio.sleep(0)

    with pytest.raises(AgentUnavailableError, match="may have taken"):
        await agent.run(silent, limits=ClientLimits(first_message_s=0.05))


async def test_a_refusal_before_the_ack_carries_its_status(agent: Agent) -> None:
    async def refuse(worker: Worker) -> None:
        await worker.inbound.refuse("400", "no good")

    with pytest.raises(ServiceRefusedError, match="400: no good") as caught:
        await agent.run(refuse)
    assert caught.value.status == "400"


async def test_a_request_that_breaks_its_own_shape_is_not_sent(agent: Agent) -> None:
    async def never(worker: Worker) -> None:
        raise AssertionError

    with pytest.raises(ProtocolError):
        await agent.run(never, prompt="")


async def test_a_missing_number_is_a_gap_and_no_end(agent: Agent) -> None:
    async def lose(worker: Worker) -> None:
        await worker.ack()
        worker.sequence += 2
        await worker.event()
        worker.sequence -= 1
        await worker.event()
        await worker.end()

    caller = RecordingCaller()
    end = await agent.run(lose, caller)
    assert isinstance(end.terminal, m.Result)
    assert (caller.gaps, end.gaps) == ([2], 2)
    assert len(caller.blocks) == 2
    assert end.token == "T1"


async def test_a_worker_that_is_gone_ends_the_reading_as_incomplete(agent: Agent) -> None:
    async def die(worker: Worker) -> None:
        await worker.ack()
        await worker.event()

    with pytest.raises(IncompleteTaskError, match="nobody answers for this task") as caught:
        await agent.run(die, limits=SHORT)
    assert caught.value.token == "T1"


async def test_a_terminal_under_way_from_a_gone_worker_counts(agent: Agent) -> None:
    async def late(worker: Worker) -> None:
        await worker.ack()
        await asyncio.sleep(0.09)
        await worker.end()

    end = await agent.run(late, limits=replace(SHORT, probe_s=0.03, lost_s=2.0))
    assert isinstance(end.terminal, m.Result)


async def test_a_silent_worker_that_answers_probes_is_waited_for_up_to_the_limit(
    agent: Agent,
) -> None:
    async def quiet(worker: Worker) -> None:
        await worker.alive()
        await worker.ack()

    started = asyncio.get_running_loop().time()
    with pytest.raises(IncompleteTaskError, match="said nothing"):
        await agent.run(quiet, limits=SHORT)
    assert asyncio.get_running_loop().time() - started >= SHORT.idle_s


async def test_a_worker_known_to_send_keepalives_is_waited_for_less(agent: Agent) -> None:
    async def quiet(worker: Worker) -> None:
        await worker.alive()
        await worker.ack()
        await worker.event(m.StatusBlockEvent(phase="something-new"))
        await worker.event(m.StatusBlockEvent(phase="running"))

    limits = replace(SHORT, idle_s=60.0)
    with pytest.raises(IncompleteTaskError, match="said nothing"):
        await asyncio.wait_for(agent.run(quiet, limits=limits), 5)


async def test_without_events_the_limit_bounds_the_whole_task(agent: Agent) -> None:
    async def chatter(worker: Worker) -> None:
        await worker.alive()
        await worker.ack()
        for _ in range(100):
            await asyncio.sleep(0.02)
            await worker.event()

    with pytest.raises(IncompleteTaskError):
        await agent.run(chatter, limits=SHORT, stream=False)


async def test_what_is_not_ours_is_dropped_and_keeps_nothing_alive(agent: Agent) -> None:
    async def noise(worker: Worker) -> None:
        await worker.alive()
        await worker.ack()
        other = structs.replace(m.Result(**worker.header(), stop_reason="end_turn"), request="R9")
        for _ in range(100):
            await asyncio.sleep(0.02)
            await worker.inbound.respond(b"junk")
            await worker.say(other, {m.FINAL_HEADER: "true"})

    caller = RecordingCaller()
    with pytest.raises(IncompleteTaskError, match="said nothing"):
        await agent.run(noise, caller, limits=SHORT)
    assert caller.blocks == []


@pytest.mark.parametrize("change", ["id", "shape", "size", "kind", "final"])
async def test_a_message_of_ours_that_cannot_be_read_leaves_the_outcome_unknown(
    agent: Agent, change: str
) -> None:
    async def spoil(worker: Worker) -> None:
        await worker.alive()
        await worker.ack()
        body = codec.encode(m.Result(**worker.header(), stop_reason="end_turn"))
        headers: dict[str, str] = {}
        if change == "id":
            body = body.replace(b"v1.result", b"v1.novelty")
        elif change == "shape":
            body = body.replace(b'"end_turn"', b'"End Turn"')
        elif change == "size":
            body = body.replace(b'"end_turn"', b'"end_turn","text":"' + b"x" * 800_000 + b'"')
        elif change == "kind":
            body = codec.encode(m.Cancel(**worker.header()))
        else:
            body = codec.encode(m.EventMessage(**worker.header(), block=TEXT))
            headers = {m.FINAL_HEADER: "true"}
        await worker.inbound.respond(body, headers or None)
        await worker.end()

    with pytest.raises(IncompleteTaskError):
        await agent.run(spoil)


async def test_an_event_of_an_unknown_kind_is_passed_on_untouched(agent: Agent) -> None:
    unknown = m.UnknownBlockEvent(kind="novelty", raw=b'{"a": 1}')

    async def news(worker: Worker) -> None:
        await worker.ack()
        await worker.event(unknown)
        await worker.end()

    caller = RecordingCaller()
    await agent.run(news, caller)
    assert caller.blocks == [unknown]


async def test_a_refusing_ack_ends_with_its_terminal(agent: Agent) -> None:
    async def refuse(worker: Worker) -> None:
        await worker.ack(accepted=False, reason="full")
        await worker.say(
            m.ErrorTerminal(**worker.header(), error="full", code="capacity"),
            {m.FINAL_HEADER: "true"},
        )

    end = await agent.run(refuse)
    assert isinstance(end.terminal, m.ErrorTerminal)
    assert end.terminal.code == "capacity"


async def test_a_refusing_ack_without_a_terminal_is_a_rejection(agent: Agent) -> None:
    async def refuse(worker: Worker) -> None:
        await worker.ack(accepted=False, reason="full")

    end = await agent.run(refuse, limits=SHORT)
    assert isinstance(end.terminal, m.ErrorTerminal)
    assert (end.terminal.code, end.terminal.error) == ("rejected", "full")


async def test_an_open_question_keeps_the_idle_limit_away(agent: Agent) -> None:
    decided = asyncio.Event()

    async def ask(worker: Worker) -> None:
        async def take(inbound: Inbound) -> None:
            reply = codec.decode(inbound.body)
            await inbound.respond(
                codec.encode(m.Ack(**m.reply_header(reply, "billing"), accepted=True))
            )
            await worker.end()

        await worker.alive()
        subject = subjects.elicit("billing", worker.request.request)
        await worker.connection.watch(subject, take)
        await worker.ack()
        await worker.ask()

    async def think(question: m.AnyQuestion) -> Given:
        await asyncio.sleep(SHORT.idle_s * 1.5)
        decided.set()
        return "once"

    end = await agent.run(ask, RecordingCaller(person=think), limits=SHORT)
    assert decided.is_set()
    assert (isinstance(end.terminal, m.Result), end.unsent) == (True, ())


async def test_a_set_that_broke_off_hands_back_decisions_that_reached_nobody(
    agent: Agent,
) -> None:
    async def ask(worker: Worker) -> None:
        await worker.ack()
        await worker.ask()

    async def decide(question: m.AnyQuestion) -> Given:
        return "once"

    with pytest.raises(IncompleteTaskError) as caught:
        await agent.run(ask, RecordingCaller(person=decide), limits=SHORT)
    assert [answer.choice for answer in caught.value.unsent] == ["once"]


async def test_a_lost_connection_leaves_the_outcome_unknown(agent: Agent) -> None:
    async def begin(worker: Worker) -> None:
        await worker.alive()
        await worker.ack()

    caller = RecordingCaller()
    run = asyncio.create_task(agent.run(begin, caller))
    await asyncio.wait_for(caller.acked.wait(), 5)
    await agent.caller.drain()
    with pytest.raises(IncompleteTaskError) as caught:
        await asyncio.wait_for(run, 5)
    assert caught.value.token == "T1"


async def test_an_error_of_a_handler_reaches_its_caller(agent: Agent) -> None:
    async def begin(worker: Worker) -> None:
        await worker.ack()

    class Broken(RecordingCaller):
        async def on_ack(self, ack: m.Ack) -> None:
            raise FiskError("the terminal is gone")

    with pytest.raises(FiskError, match="terminal is gone"):
        await agent.run(begin, Broken())


async def test_the_wire_dump_lists_both_directions_under_the_subject_asked(agent: Agent) -> None:
    lines: list[tuple[str, str, bytes]] = []

    def dump(direction: str, subject: str, body: bytes) -> None:
        lines.append((direction, subject, body))
        raise OSError("disk full")

    async def answer(worker: Worker) -> None:
        await worker.ack()
        await worker.inbound.respond(b"junk")
        await worker.end()

    await agent.acts(answer)
    client = AgentClient(agent.caller, "billing", "terminal", debug=dump)
    request = prompt()
    await client.run(request, RecordingCaller())
    assert {subject for _, subject, _ in lines} == {"choria.fisk-ai.task.billing"}
    assert [direction for direction, _, _ in lines] == [">", "<", "<", "<"]
    assert codec.decode(lines[0][2]) == request
    assert lines[2][2] == b"junk"


async def test_a_cancel_of_what_does_not_run_says_so(caller: Connection) -> None:
    assert not await AgentClient(caller, "billing", "terminal").cancel("R1")


async def test_a_terminal_lost_with_the_broker_is_asked_after_when_the_broker_is_back(
    tmp_path: Path,
) -> None:
    heard = RecordingCaller()

    async def take(inbound: Inbound) -> None:
        request = codec.decode(inbound.body)
        assert isinstance(request, m.RequestPrompt)
        await Worker(worker, inbound, request).ack()

    async with running_server(tmp_path / "first", 'listen: "127.0.0.1:-1"') as url:
        worker = await connect(ConnectOptions(url, "worker"))
        caller = await connect(ConnectOptions(url, "caller"))
        await worker.watch(subjects.task("billing"), take)
        limits = replace(SHORT, probe_s=600.0, idle_s=600.0, return_s=0.1)
        client = AgentClient(caller, "billing", "caller", limits=limits)
        running = asyncio.create_task(client.run(prompt(), heard))
        await heard.acked.wait()
    await worker.drop()
    port = url.rpartition(":")[2]
    async with running_server(tmp_path / "second", f'listen: "127.0.0.1:{port}"'):
        with pytest.raises(IncompleteTaskError, match="nobody answers for this task any more"):
            async with asyncio.timeout(10):
                await running
        await caller.drop()


async def test_a_frozen_worker_is_probed_again_and_the_limit_decides(agent: Agent) -> None:
    probes: list[bytes] = []

    async def freeze(worker: Worker) -> None:
        async def hang(inbound: Inbound) -> None:
            probes.append(inbound.body)

        subject = subjects.cancel("billing", worker.request.request)
        await worker.connection.watch(subject, hang)
        await worker.ack()

    limits = replace(SHORT, probe_s=0.05, control_s=0.05, idle_s=0.5)
    with pytest.raises(IncompleteTaskError, match="said nothing"):
        await agent.run(freeze, limits=limits)
    assert len(probes) > 1
    assert set(probes) == {b""}


async def test_a_read_is_not_probed_since_nobody_runs_it(agent: Agent) -> None:
    async def slow(inbound: Inbound) -> None:
        request = codec.decode(inbound.body)
        assert isinstance(request, m.RequestRead)
        ack = m.Ack(**m.reply_header(request, "billing", 1), accepted=True)
        await inbound.respond(codec.encode(ack))

    await agent.worker.watch(subjects.task("billing"), slow)
    limits = replace(SHORT, probe_s=0.01, lost_s=0.01, idle_s=0.3)
    client = AgentClient(agent.caller, "billing", "terminal", limits=limits)
    with pytest.raises(IncompleteTaskError, match="said nothing"):
        await client.run(read("T1"), RecordingCaller())


async def test_a_set_whose_ack_was_lost_is_read_all_the_same(agent: Agent) -> None:
    async def begin_late(worker: Worker) -> None:
        worker.sequence = 1
        await worker.event()
        await worker.end()

    caller = RecordingCaller()
    end = await agent.run(begin_late, caller)
    assert isinstance(end.terminal, m.Result)
    assert (caller.acks, caller.blocks, end.gaps, end.token) == ([], [TEXT], 1, "")


async def test_a_terminal_without_the_final_header_is_an_end(agent: Agent) -> None:
    async def end_plainly(worker: Worker) -> None:
        await worker.ack()
        await worker.say(m.Result(**worker.header(), stop_reason="a_new_reason"))

    end = await agent.run(end_plainly)
    assert end.terminal.stop_reason == "a_new_reason"


async def test_a_control_message_that_nobody_answers_is_an_error_in_time(agent: Agent) -> None:
    async def ignore(inbound: Inbound) -> None:
        await asyncio.sleep(0)

    await agent.worker.watch(subjects.cancel("billing", "R1"), ignore)
    limits = replace(SHORT, control_s=0.05)
    client = AgentClient(agent.caller, "billing", "terminal", limits=limits)
    with pytest.raises(BusTimeoutError):
        await client.cancel("R1")


@pytest.mark.parametrize(("status", "text"), [("404", "not here"), ("500", "a bug")])
async def test_a_refused_cancel_carries_its_status(agent: Agent, status: str, text: str) -> None:
    async def refuse(inbound: Inbound) -> None:
        await inbound.refuse(status, text)

    await agent.worker.watch(subjects.cancel("billing", "R1"), refuse)
    client = AgentClient(agent.caller, "billing", "terminal")
    with pytest.raises(ServiceRefusedError, match=f"{status}: {text}") as caught:
        await client.cancel("R1")
    assert caught.value.status == status


async def test_the_idle_limit_starts_anew_when_the_last_question_closes(agent: Agent) -> None:
    async def ask(worker: Worker) -> None:
        async def take(inbound: Inbound) -> None:
            reply = codec.decode(inbound.body)
            ack = m.Ack(**m.reply_header(reply, "billing"), accepted=True)
            await inbound.respond(codec.encode(ack))

        await worker.alive()
        subject = subjects.elicit("billing", worker.request.request)
        await worker.connection.watch(subject, take)
        await worker.ack()
        await worker.ask()

    loop, closed = asyncio.get_running_loop(), list[float]()

    async def think(question: m.AnyQuestion) -> Given:
        await asyncio.sleep(SHORT.idle_s * 1.2)
        closed.append(loop.time())
        return "once"

    with pytest.raises(IncompleteTaskError, match="said nothing"):
        await agent.run(ask, RecordingCaller(person=think), limits=SHORT)
    assert loop.time() - closed[0] >= SHORT.idle_s


async def test_a_card_that_is_none_is_told_apart_from_a_refusal(agent: Agent) -> None:
    asked: list[m.AnyMessage] = []

    async def ack(inbound: Inbound) -> None:
        request = codec.decode(inbound.body)
        asked.append(request)
        message = m.Ack(**m.reply_header(request, "billing"), accepted=True)
        await inbound.respond(codec.encode(message))

    await agent.worker.watch(subjects.discovery("billing"), ack)
    with pytest.raises(ProtocolMismatchError, match="no card"):
        await AgentClient(agent.caller, "billing", "terminal").card(5)
    (request,) = asked
    assert (request.request, request.sequence) == (request.conversation, 0)
    assert request.id != request.request


@pytest.mark.parametrize("accepted", [True, False])
async def test_a_cancel_is_taken_only_by_an_accepting_ack(agent: Agent, *, accepted: bool) -> None:
    async def reply(inbound: Inbound) -> None:
        request = codec.decode(inbound.body)
        header = m.reply_header(request, "billing")
        await inbound.respond(codec.encode(m.Ack(**header, accepted=accepted, reason="not you")))

    await agent.worker.watch(subjects.cancel("billing", "R1"), reply)
    client = AgentClient(agent.caller, "billing", "terminal")
    if accepted:
        assert await client.cancel("R1")
        return
    with pytest.raises(ServiceRefusedError, match="not you"):
        await client.cancel("R1")


async def test_a_cancel_answered_with_something_else_is_told_apart(agent: Agent) -> None:
    async def reply(inbound: Inbound) -> None:
        await inbound.respond(inbound.body)

    await agent.worker.watch(subjects.cancel("billing", "R1"), reply)
    with pytest.raises(ProtocolMismatchError, match="no ack"):
        await AgentClient(agent.caller, "billing", "terminal").cancel("R1")
