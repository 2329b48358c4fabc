"""Prompts served over a real broker: intake, admission, questions, and every way to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from msgspec import structs

from agent_worker.channels.prompts import PromptsChannel
from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import AgentClient, ClientLimits, Given, TaskEnd
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.config import Config
from fisk_ai.errors import (
    AgentUnavailableError,
    ConfigError,
    NoRespondersError,
    ProviderError,
)
from fisk_ai.llm.model import Response
from fisk_ai.serving.contract import ChannelDoneError
from fisk_ai.serving.server import Server
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import Meta
from fisk_ai.sessions.state import RunState
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.broker import connected
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Tool

pytestmark = pytest.mark.integration

GATED = ("ai:confirm",)


class Serving(Protocol):
    model: ScriptedProvider
    server: Server

    def ended(self) -> Awaitable[None]: ...


class Bench(Protocol):
    caller: Connection
    store: FileStore

    def config(
        self,
        prompts: dict[str, object] | None = None,
        request_timeout: str = "5s",
        **changes: object,
    ) -> Config: ...

    def channel(
        self,
        config: Config,
        connection: Connection | None = None,
        *,
        keepalive_s: float = 15.0,
    ) -> Awaitable[PromptsChannel]: ...

    def serve(
        self,
        model: ScriptedProvider,
        *,
        tools: Sequence[Tool] = (),
        prompts: dict[str, object] | None = None,
        request_timeout: str = "5s",
        keepalive_s: float = 15.0,
        connection: Connection | None = None,
        **changes: object,
    ) -> Awaitable[Serving]: ...

    def client(self, limits: ClientLimits | None = None) -> AgentClient: ...


class Hold:
    """The effect of a tool that waits until the test lets it go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, raw: bytes) -> str:
        self.begun.set()
        await asyncio.wait_for(self.go.wait(), 10)
        return "held"


def model(*answers: Response | Exception) -> ScriptedProvider:
    return ScriptedProvider(answers)


def header() -> m.HeaderFields:
    return m.request_header(m.Sender(name="terminal"), "billing")


def prompt(text: str = "Hi", *, token: str = "", **more: object) -> m.RequestPrompt:
    return structs.replace(
        m.RequestPrompt(**header(), prompt=text, conversation_token=token), **more
    )


def error_of(end: TaskEnd) -> m.ErrorTerminal:
    assert isinstance(end.terminal, m.ErrorTerminal), end.terminal
    return end.terminal


def text_of(end: TaskEnd) -> str:
    assert isinstance(end.terminal, m.Result), end.terminal
    return end.terminal.text


def names(blocks: Sequence[m.EventBlock]) -> list[str]:
    return [type(block).__name__.removesuffix("BlockEvent") for block in blocks]


def person(given: Given) -> RecordingCaller:
    async def answer(question: m.AnyQuestion) -> Given:
        return given

    return RecordingCaller(person=answer)


async def test_a_prompt_is_narrated_in_order_and_answered(bench: Bench) -> None:
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls")])
    caller = RecordingCaller()
    end = await bench.client().run(prompt(), caller)
    assert text_of(end) == "Fine."
    assert names(caller.blocks) == ["Status", "ToolCall", "ToolResult", "Text"]
    assert isinstance(end.terminal, m.Result)
    assert end.terminal.sequence == 6
    assert end.terminal.usage == m.UsageCounts(
        input_tokens=2, output_tokens=2, llm_calls=2, tool_calls=1
    )
    assert (end.gaps, end.unsent) == (0, ())
    assert end.token == caller.token


async def test_the_session_belongs_to_the_token_and_notes_request_and_caller(
    bench: Bench,
) -> None:
    await bench.serve(model(say("A")))
    request = prompt()
    end = await bench.client().run(request, RecordingCaller())
    records = await bench.store.records(session_id_for_token("billing", end.token))
    meta = records[0].payload
    assert isinstance(meta, Meta)
    assert (meta.request, meta.caller, meta.conversation_token) == (
        request.request,
        "terminal",
        end.token,
    )


async def test_a_conversation_goes_on_with_its_token_right_after_the_terminal(
    bench: Bench,
) -> None:
    serving = await bench.serve(model(say("one"), say("two"), say("three")))
    client = bench.client()
    end = await client.run(prompt("1"), RecordingCaller())
    for text in ("2", "3"):
        end = await client.run(prompt(text, token=end.token), RecordingCaller())
        assert isinstance(end.terminal, m.Result)
    assert text_of(end) == "three"
    assert len(serving.model.requests[-1].messages) == 5


async def test_a_token_nobody_knows_is_told_so(bench: Bench) -> None:
    await bench.serve(model())
    client = bench.client()
    requests: list[m.AnyRequest] = [
        prompt(token="T9"),
        m.RequestResume(**header(), conversation_token="T9"),
        m.RequestRead(**header(), conversation_token="T9", replay=5),
    ]
    for request in requests:
        end = await client.run(request, RecordingCaller())
        assert error_of(end).code == "unknown_conversation"


async def test_fragments_come_only_when_asked_for(bench: Bench) -> None:
    await bench.serve(model(say("Fine."), say("Fine.")))
    plain, streamed = RecordingCaller(), RecordingCaller()
    await bench.client().run(prompt(), plain)
    await bench.client().run(prompt(deltas=True), streamed)
    assert names(plain.blocks) == ["Text"]
    assert names(streamed.blocks)[-1] == "Text"
    assert set(names(streamed.blocks)[:-1]) == {"TextDelta"}


async def test_a_caller_that_wants_no_stream_gets_the_answer_alone(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[tool], keepalive_s=0.001)
    caller = RecordingCaller()
    run = asyncio.create_task(bench.client().run(prompt(stream=False), caller))
    await hold.begun.wait()
    hold.go.set()
    assert text_of(await run) == "Fine."
    assert caller.blocks == []


async def test_a_silent_run_says_that_it_is_running(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[tool], keepalive_s=0.01)
    caller = RecordingCaller()
    run = asyncio.create_task(bench.client().run(prompt(), caller))
    running = m.StatusBlockEvent(phase="running")
    await hold.begun.wait()
    for _ in range(500):
        if running in caller.blocks:
            break
        await asyncio.sleep(0.01)
    hold.go.set()
    end = await run
    assert running in caller.blocks
    assert end.gaps == 0


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


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "the request is not a valid v1 message"),
        (b"x" * (codec.MESSAGE_LIMIT + 1), "the request is 786433 bytes, over the"),
        (
            codec.encode(m.Cancel(**header())),
            'this path carries requests: got "io.choria.fisk-ai.v1.cancel"',
        ),
        (codec.encode(prompt()).replace(b'"Hi"', b'""'), "the request is not a valid v1 message"),
    ],
)
async def test_what_is_no_request_is_refused_before_anything_is_acknowledged(
    bench: Bench, body: bytes, complaint: str
) -> None:
    await bench.serve(model())
    reply = await bench.caller.request(subjects.task("billing"), body, timeout_s=5)
    assert reply.refusal is not None
    assert reply.refusal[0] == "400"
    assert reply.refusal[1].startswith(complaint)
    assert reply.body == b""


async def test_a_reply_subject_outside_an_inbox_is_dropped_unread(bench: Bench) -> None:
    serving = await bench.serve(model(say("no")))
    for reply in ("fisk.session.billing.t-1", "choria.fisk-ai.task.billing"):
        await bench.caller.publish_request(
            subjects.task("billing"), codec.encode(prompt()), reply=reply
        )
    await bench.caller.publish(subjects.task("billing"), codec.encode(prompt()))
    await bench.caller.flush()
    card = await bench.client().card(5)
    assert card.name == "billing"
    assert serving.model.requests == []


async def test_the_card_says_what_the_agent_answers(bench: Bench) -> None:
    await bench.serve(model())
    card = await bench.client().card(5)
    assert (card.name, card.version, card.model) == ("billing", "1.2", "m")
    assert card.protocols == (m.NAMESPACE,)
    body = codec.encode(m.Cancel(**header()))
    reply = await bench.caller.request(subjects.discovery("billing"), body, timeout_s=5)
    assert reply.refusal is not None
    assert "unexpected message protocol" in reply.refusal[1]


async def test_a_cancel_stops_at_the_next_boundary_and_a_resume_goes_on(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[tool])
    client, request, caller = bench.client(), prompt(), RecordingCaller()
    run = asyncio.create_task(client.run(request, caller))
    await hold.begun.wait()
    assert await client.cancel(request.request, "enough")
    assert await client.cancel(request.request)
    hold.go.set()
    end = error_of(await run)
    assert (end.code, end.stop_reason) == ("suspended", "suspended")
    assert end.usage == m.UsageCounts(input_tokens=1, output_tokens=1, llm_calls=1, tool_calls=1)
    resumed = await client.run(
        m.RequestResume(**header(), conversation_token=caller.token), RecordingCaller()
    )
    assert text_of(resumed) == "Fine."


async def test_a_cancel_right_after_the_ack_is_taken(bench: Bench) -> None:
    await bench.serve(model(say("Fine.")), prompts={"workers": 1})
    client, request = bench.client(), prompt()

    class Eager(RecordingCaller):
        async def on_ack(self, ack: m.Ack) -> None:
            await RecordingCaller.on_ack(self, ack)
            self.taken = await client.cancel(request.request)

    end = await client.run(request, Eager())
    assert isinstance(end.terminal, m.Result | m.ErrorTerminal)
    assert not await client.cancel(request.request)


async def test_an_empty_cancel_is_refused_and_so_tells_that_the_task_is_alive(
    bench: Bench,
) -> None:
    hold = Hold()
    await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls", effect=hold)]
    )
    request = prompt()
    run = asyncio.create_task(bench.client().run(request, RecordingCaller()))
    await hold.begun.wait()
    subject = subjects.cancel("billing", request.request)
    reply = await bench.caller.request(subject, b"", timeout_s=5)
    assert reply.refusal is not None
    assert reply.refusal[0] == "400"
    hold.go.set()
    assert text_of(await run) == "Fine."
    with pytest.raises(NoRespondersError):
        await bench.caller.request(subject, b"", timeout_s=5)


async def test_a_gated_call_runs_when_its_caller_allows_it(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Gone.")), tools=[tool], prompts={"elicit": True}
    )
    caller = person("once")
    end = await bench.client().run(prompt(), caller)
    assert text_of(end) == "Gone."
    (question,) = caller.questions
    assert isinstance(question, m.ElicitRequestApprove)
    assert (question.command, question.tool_use_id) == ("node rm", "u1")
    assert (question.wait_ms, len(question.args_sha256)) == (5000, 64)
    assert tool.calls == [b"{}"]


@pytest.mark.parametrize("given", ["no", None])
async def test_a_gated_call_does_not_run_when_nobody_allows_it(bench: Bench, given: Given) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    serving = await bench.serve(
        model(call(("u1", "node_rm")), say("Not gone.")), tools=[tool], prompts={"elicit": True}
    )
    end = await bench.client().run(prompt(), person(given))
    assert text_of(end) == "Not gone."
    assert tool.calls == []
    assert "allowed" in repr(serving.model.requests[-1].messages[-1])


async def test_without_questions_a_gated_call_is_denied_and_nobody_listens(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm")), say("Not gone.")), tools=[tool])
    caller, request = person("once"), prompt()
    end = await bench.client().run(request, caller)
    assert text_of(end) == "Not gone."
    assert caller.questions == []
    assert tool.calls == []


async def test_a_second_answer_is_told_that_the_question_is_closed(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="node_rm", own_tags=GATED, effect=hold)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Gone.")), tools=[tool], prompts={"elicit": True}
    )
    caller, request = person("once"), prompt()
    run = asyncio.create_task(bench.client().run(request, caller))
    await hold.begun.wait()
    name = caller.questions[0].question_id
    subject = subjects.elicit("billing", request.request)
    late: list[m.AnyElicitReply] = [
        m.ElicitReplyApprove(**header(), question_id=name, choice="always"),
        m.ElicitWaiting(**header(), question_id=name),
    ]
    for message in late:
        reply = await bench.caller.request(subject, codec.encode(message), timeout_s=5)
        assert reply.refusal == ("404", f'this run is not waiting on question "{name}"')
    reply = await bench.caller.request(subject, codec.encode(request), timeout_s=5)
    assert reply.refusal is not None
    assert reply.refusal[1].startswith("the answer path carries answers to questions")
    hold.go.set()
    assert text_of(await run) == "Gone."


async def asleep(question: m.AnyQuestion) -> Given:
    await asyncio.Event().wait()
    return None


@pytest.mark.parametrize("changed", [False, True])
async def test_silence_suspends_and_a_late_approval_counts_for_what_was_shown(
    bench: Bench, *, changed: bool
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Done.")),
        tools=[tool],
        prompts={"elicit": True, "elicit_max": "100ms"},
    )
    caller = RecordingCaller(person=asleep)
    end = await bench.client().run(prompt(), caller)
    assert (error_of(end).code, end.unsent) == ("suspended", ())
    (question,) = caller.questions
    assert isinstance(question, m.ElicitRequestApprove)
    digest = "b" * 64 if changed else question.args_sha256
    answer = m.Answer(tool_use_id="u1", kind="approve", choice="once", args_sha256=digest)
    again = person("no")
    request = m.RequestAnswer(**header(), conversation_token=caller.token, answer=answer)
    assert text_of(await bench.client().run(request, again)) == "Done."
    assert len(again.questions) == int(changed)
    assert len(tool.calls) == int(not changed)


async def test_a_cancel_gives_the_open_question_up(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts={"elicit": True})
    client, caller, request = bench.client(), RecordingCaller(person=asleep), prompt()
    run = asyncio.create_task(client.run(request, caller))
    await asyncio.wait_for(caller.asked.wait(), 5)
    assert await client.cancel(request.request)
    assert error_of(await asyncio.wait_for(run, 5)).code == "suspended"
    assert tool.calls == []


async def test_a_decision_that_came_too_late_is_handed_back(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts={"elicit": True})
    client, request = bench.client(), prompt()

    async def slow(question: m.AnyQuestion) -> Given:
        assert await client.cancel(request.request)
        return "always"

    end = await client.run(request, RecordingCaller(person=slow))
    assert error_of(end).code == "suspended"
    assert [(each.tool_use_id, each.choice) for each in end.unsent] == [("u1", "always")]


async def test_a_late_answer_to_a_question_tool_is_refused_in_a_sentence(bench: Bench) -> None:
    await bench.serve(model())
    answer = m.Answer(tool_use_id="u1", kind="confirm", confirmed=True)
    request = m.RequestAnswer(**header(), conversation_token="T1", answer=answer)
    end = await bench.client().run(request, RecordingCaller())
    assert error_of(end).code == "rejected"
    assert "not built yet" in error_of(end).error


async def test_a_read_replays_what_was_said_while_a_turn_runs(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    serving = await bench.serve(model(say("one"), call(("u1", "ls")), say("two")), tools=[tool])
    client = bench.client()
    token = (await client.run(prompt("first"), RecordingCaller())).token
    run = asyncio.create_task(client.run(prompt("second", token=token), RecordingCaller()))
    await hold.begun.wait()
    reader = RecordingCaller()
    end = await client.run(m.RequestRead(**header(), conversation_token=token, replay=200), reader)
    assert names(reader.blocks) == ["Status", "Prompt", "Text", "Prompt", "ToolCall", "Status"]
    assert reader.blocks[-1] == m.StatusBlockEvent(
        phase="replay_end",
        count=4,
        usage=m.UsageCounts(input_tokens=2, output_tokens=2),
    )
    assert isinstance(end.terminal, m.Result)
    assert (end.terminal.text, end.terminal.stop_reason) == ("", "end_turn")
    assert len(serving.model.requests) == 2
    hold.go.set()
    assert text_of(await run) == "two"


class SlowStore(FileStore):
    """Loads the conversation of token ``T1`` when the test says so."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.loads = 0
        self.go = asyncio.Event()

    async def load(self, run_id: str) -> RunState:
        if run_id == session_id_for_token("billing", "T1"):
            self.loads += 1
            await asyncio.wait_for(self.go.wait(), 10)
        return await super().load(run_id)


class BrokenStore(FileStore):
    """Fails in a way that no store may."""

    async def load(self, run_id: str) -> RunState:
        raise ZeroDivisionError("/home/someone")


async def test_a_read_that_meets_a_bug_still_ends(bench: Bench, tmp_path: Path) -> None:
    bench.store = BrokenStore(tmp_path / "broken")
    await bench.serve(model())
    request = m.RequestRead(**header(), conversation_token="T1", replay=5)
    end = error_of(await bench.client().run(request, RecordingCaller()))
    assert (end.code, end.error) == ("failed", "reading the stored conversation failed")


async def test_slow_reads_leave_intake_free_and_a_fifth_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    bench.store = slow = SlowStore(tmp_path / "slow")
    await bench.serve(model(say("Fine.")))
    client = bench.client()

    def a_read() -> m.RequestRead:
        return m.RequestRead(**header(), conversation_token="T1", replay=5)

    callers = [RecordingCaller() for _ in range(4)]
    reads = [asyncio.create_task(client.run(a_read(), caller)) for caller in callers]
    for caller in callers:
        await asyncio.wait_for(caller.acked.wait(), 5)
    fifth = await client.run(a_read(), RecordingCaller())
    assert error_of(fifth).code == "capacity"
    assert text_of(await client.run(prompt(), RecordingCaller())) == "Fine."
    slow.go.set()
    assert {error_of(end).code for end in await asyncio.gather(*reads)} == {"unknown_conversation"}
    assert slow.loads == 4


async def test_a_follow_up_may_ask_for_history_first(bench: Bench) -> None:
    await bench.serve(model(say("one"), say("two")))
    client = bench.client()
    token = (await client.run(prompt("first"), RecordingCaller())).token
    caller = RecordingCaller()
    await client.run(prompt("second", token=token, replay=1), caller)
    assert names(caller.blocks) == ["Status", "Text", "Status", "Text"]
    end = caller.blocks[2]
    assert isinstance(end, m.StatusBlockEvent)
    assert (end.phase, end.count, end.truncated) == ("replay_end", 1, True)


async def test_the_lower_of_both_budgets_bounds_the_conversation(bench: Bench) -> None:
    await bench.serve(
        model(say("A"), say("B"), say("C")),
        llm={"model": "m", "budget": {"max_tokens": 500}},
    )
    bounds: list[int] = []
    for asked in (0, 40, 900):
        caller = RecordingCaller()
        request = m.RequestPrompt(**header(), prompt="x", budget=m.Budget(max_tokens=asked))
        await bench.client().run(request, caller)
        bounds.append(caller.acks[0].max_tokens)
    assert bounds == [500, 40, 500]


async def test_a_spent_budget_ends_the_conversation_in_its_own_code(bench: Bench) -> None:
    await bench.serve(model(call(("u1", "ls"))), tools=[FakeTool(name="ls")])
    request = m.RequestPrompt(**header(), prompt="x", budget=m.Budget(max_tokens=1))
    end = error_of(await bench.client().run(request, RecordingCaller()))
    assert (end.code, end.stop_reason) == ("budget_exhausted", "budget_exhausted")
    assert "llm.budget.max_tokens" in end.error


async def test_a_drain_parks_the_running_turn_and_refuses_the_next(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    serving = await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[tool], prompts={"workers": 2}
    )
    run = asyncio.create_task(bench.client().run(prompt(), RecordingCaller()))
    await hold.begun.wait()
    await serving.server.release()
    with pytest.raises(AgentUnavailableError):
        await bench.client().run(prompt(), RecordingCaller())
    hold.go.set()
    assert error_of(await run).code == "suspended"
    await serving.ended()


async def test_a_task_that_nobody_took_is_refused_when_its_channel_closes(bench: Bench) -> None:
    channel = await bench.channel(bench.config(prompts={"workers": 3}))
    assert (channel.name, channel.concurrency()) == ("a2a/prompts", 3)
    caller = RecordingCaller()
    run = asyncio.create_task(bench.client().run(prompt(), caller))
    await asyncio.wait_for(caller.acked.wait(), 5)
    await channel.close()
    assert (error_of(await run).code, caller.acks[0].accepted) == ("draining", True)
    await channel.close()
    for _ in range(2):
        with pytest.raises(ChannelDoneError):
            await channel.next()


async def test_a_channel_without_prompts_is_not_built(bench: Bench) -> None:
    with pytest.raises(ConfigError, match=r"expose\.agent\.a2a\.prompts"):
        await bench.channel(bench.config(expose={}))


async def test_a_conversation_that_cannot_be_read_is_told_without_its_detail(
    bench: Bench, tmp_path: Path
) -> None:
    await bench.serve(model(say("one")))
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    (journal,) = (tmp_path / "runs").rglob(f"{session_id_for_token('billing', token)}*.json")
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    read = await client.run(
        m.RequestRead(**header(), conversation_token=token, replay=5), RecordingCaller()
    )
    assert error_of(read).error == "reading the stored conversation failed"
    caller = RecordingCaller()
    end = await client.run(prompt(token=token, replay=5), caller)
    assert isinstance(end.terminal, m.ErrorTerminal)
    assert caller.blocks == []


async def test_the_cancel_subject_takes_cancels_alone(bench: Bench) -> None:
    hold = Hold()
    await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls", effect=hold)]
    )
    request = prompt()
    run = asyncio.create_task(bench.client().run(request, RecordingCaller()))
    await hold.begun.wait()
    subject = subjects.cancel("billing", request.request)
    reply = await bench.caller.request(subject, codec.encode(request), timeout_s=5)
    assert reply.refusal is not None
    assert reply.refusal[1].startswith("the cancel path carries cancel messages")
    hold.go.set()
    assert text_of(await run) == "Fine."


async def test_a_hard_stop_is_told_as_one(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    serving = await bench.serve(model(call(("u1", "ls"))), tools=[tool])
    run = asyncio.create_task(bench.client().run(prompt(), RecordingCaller()))
    await hold.begun.wait()
    await serving.server.release()
    await serving.server.cancel_runs()
    assert (error_of(await run).code, error_of(await run).stop_reason) == ("canceled", "canceled")
    await serving.ended()


async def test_a_model_that_is_overloaded_is_told_apart_and_can_be_resumed(bench: Bench) -> None:
    overloaded = ProviderError("the model is overloaded", failure="overloaded")
    await bench.serve(model(overloaded, say("Fine.")))
    client = bench.client()
    end = await client.run(prompt(), RecordingCaller())
    assert (error_of(end).code, error_of(end).stop_reason) == ("provider_busy", "error")
    request = m.RequestResume(**header(), conversation_token=end.token)
    assert text_of(await client.run(request, RecordingCaller())) == "Fine."


async def test_a_finished_conversation_cannot_be_resumed(bench: Bench) -> None:
    serving = await bench.serve(model(say("Fine.")))
    client = bench.client()
    end = await client.run(prompt(), RecordingCaller())
    request = m.RequestResume(**header(), conversation_token=end.token)
    assert error_of(await client.run(request, RecordingCaller())).code == "failed"
    assert len(serving.model.requests) == 1


async def test_a_changed_configuration_is_told_and_can_be_forced(bench: Bench) -> None:
    old = await bench.serve(model(say("one")))
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    await old.server.release()
    await old.ended()
    await bench.serve(model(say("two")), system_prompt="be long")
    drifted = await client.run(prompt("more", token=token), RecordingCaller())
    assert error_of(drifted).code == "config_drift"
    forced = await client.run(prompt("more", token=token, force=True), RecordingCaller())
    assert text_of(forced) == "two"


async def test_a_conversation_held_elsewhere_is_busy_and_stays_untouched(bench: Bench) -> None:
    serving = await bench.serve(model(say("one"), say("two")))
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    session = session_id_for_token("billing", token)
    journal = await bench.store.open(session)
    before = journal.last_seq()
    busy = await client.run(prompt("more", token=token), RecordingCaller())
    assert error_of(busy).code == "conversation_busy"
    assert journal.last_seq() == before
    await journal.close()
    assert text_of(await client.run(prompt("more", token=token), RecordingCaller())) == "two"
    assert len(serving.model.requests) == 2


async def test_two_workers_of_one_agent_serve_each_request_once(
    bench: Bench, broker: Broker
) -> None:
    answers = [say(f"{number}") for number in range(20)]
    one = await bench.serve(model(*answers), prompts={"workers": 20})
    async with connected(broker, name="worker two") as second:
        two = await bench.serve(model(*answers), prompts={"workers": 20}, connection=second)
        ends = await asyncio.gather(
            *(bench.client().run(prompt(), RecordingCaller()) for _ in range(10))
        )
        assert all(isinstance(end.terminal, m.Result) for end in ends)
        assert len(one.model.requests) + len(two.model.requests) == 10
        await two.server.release()
        await two.ended()
