"""What a fleet costs over the broker it stands on: an iteration, an accepted prompt, an event."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.events import TextBlockEvent
from fisk_ai.a2a.messages import Ack, RequestPrompt, Result, Sender, reply_header, request_header
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.agent.options import Checkpoint, RunOptions
from fisk_ai.agent.run import run
from fisk_ai.bus.connection import Connection, Inbound
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import Config
from fisk_ai.llm.model import Request, Response, TextBlock, ToolUseBlock, Usage
from fisk_ai.llm.provider import Capabilities, DeltaSink
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import connected, provision, running_broker
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.tools import FakeTool
from fisk_ai.testing.workshop import Workshop

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(120)]

ITERATIONS = 200
PROMPTS = 200
EVENTS = 1000
WARM_UP = 20
SESSION = "measured"
OUTPUT = "one line of what a tool may well print\n" * 8

Row = Callable[[str, str, str, str], None]

ECHO = """\
import asyncio, sys
from fisk_ai.bus.connection import ConnectOptions, connect

async def main():
    connection = await connect(ConnectOptions(sys.argv[1], "echo"))
    await connection.watch("echo", lambda inbound: inbound.respond(inbound.body))
    await connection.flush()
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
"""Whoever answers at once, in a process of its own like the worker."""

CONFIG = """\
identity: measured
system_prompt: You are measured.
application_path: {application}
llm: {{model: small, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{prompts: {{}}}}}}}}
harness: {{sessions: {{backend: jetstream, options: {{stream: RUNS}}}}}}
"""


class Alternating:
    """A model that stores the two records of the last iteration once more, in a bare stream.

    From an answer to the next request is one iteration; both meet the same broker and its disk.
    """

    def __init__(self, js: JetStream) -> None:
        self.iterations_s: list[float] = []
        self.bare_s: list[float] = []
        self._js = js
        self._answered = 0.0

    def capabilities(self) -> Capabilities:
        return Capabilities(provider="measured", semconv_provider="measured")

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        asked = time.perf_counter()
        done = len(self.iterations_s)
        if self._answered:
            self.iterations_s.append(asked - self._answered)
            self.bare_s.append(await self._stored_once_more(2 * done + 2))
            done += 1
        content = ToolUseBlock(f"call_{done}", "look_up", b'{"query":"the quick brown fox"}')
        answer = Response((TextBlock("Let me look that up."), content), "tool_use", Usage(100, 10))
        if done == ITERATIONS:
            answer = Response((TextBlock("done"),), "end_turn", Usage(100, 10))
        self._answered = time.perf_counter()
        return answer

    async def close(self) -> None:
        return

    async def _stored_once_more(self, seq: int) -> float:
        bodies: list[bytes] = []
        for number in (seq, seq + 1):
            subject = f"fisk.sessions.RUNS.{SESSION}.{number}"
            record = await self._js.newest("RUNS", subject)
            assert record is not None, "an iteration with one call adds a reply and a result"
            bodies.append(record.body)
        started = time.perf_counter()
        for number, body in enumerate(bodies):
            await self._js.publish(f"fisk.sessions.BARE.{seq}.{number}", body)
        return time.perf_counter() - started


def test_an_iteration_whose_session_is_in_a_stream(disk: Path, row: Row) -> None:
    async def measured() -> Alternating:
        async with running_broker(disk, jetstream=True) as broker, connected(broker) as connection:
            js = JetStream(connection)
            await provision(js, stream_wish("RUNS", replicas=1), stream_wish("BARE", replicas=1))
            store = StreamStore(js, "RUNS", Presence(connection, "bench"))
            await store.bind()
            model = Alternating(js)
            result, error = await run(_options(model, store))
            assert (result.reason, error) == ("completed", None)
            return model

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        model = runner.run(measured())
    iteration = statistics.median(model.iterations_s[WARM_UP:])
    bare = statistics.median(model.bare_s[WARM_UP:])
    row(
        "iteration whose session is in a stream / its two bare publish-acks",
        f"{iteration / bare:.2f}x",
        "2x",
        f"{iteration * 1000:.2f} ms / {bare * 1000:.2f} ms, medians of {ITERATIONS - WARM_UP}",
    )


def _options(model: Alternating, store: StreamStore) -> RunOptions:
    budget = {"max_iterations": ITERATIONS + 1, "max_tokens": 1_000_000}
    config = {"identity": "bench", "system_prompt": "-", "llm": {"model": "m", "budget": budget}}
    return RunOptions(
        config=Config.model_validate(config),
        provider=model,
        session_store=store,
        custom_tools=[FakeTool(name="look_up", output=OUTPUT)],
        prompt="go",
        checkpoint=Checkpoint(resume_id=SESSION, create_if_missing=True),
    )


async def test_the_ack_of_a_prompt_on_an_idle_worker(disk: Path, row: Row) -> None:
    application = FakeApplication(disk / "agent", [FakeCommand(path="report")])
    async with (
        running_broker(disk / "broker", jetstream=True) as broker,
        connected(broker) as caller,
        _echoing(broker.url_with_credentials),
    ):
        await provision(JetStream(caller), stream_wish("RUNS", replicas=1))
        shop = Workshop(disk / "agent", broker.url_with_credentials, application, state="")
        shop.write("agent.yaml", CONFIG.format(application=application.path))
        shop.write("script.yaml", "turns: [{say: Well.}]\n")
        await shop.start("--no-operator", environ={"FISK_AI_LOG_LEVEL": "error"})
        acks_s: list[float] = []
        bare_s: list[float] = []
        for _ in range(WARM_UP + PROMPTS):
            body = codec.encode(
                RequestPrompt(**request_header(Sender(name="bench"), "measured"), prompt="well?")
            )
            acks_s.append(await _acked(caller, body))
            started = time.perf_counter()
            await caller.request("echo", body, timeout_s=10)
            bare_s.append(time.perf_counter() - started)
        await shop.close()
    ack, bare = _p99(acks_s[WARM_UP:]), _p99(bare_s[WARM_UP:])
    row(
        "ack of a prompt on an idle worker / a bare request and reply, at p99",
        f"{ack / bare:.2f}x",
        "3x",
        f"{ack * 1000:.2f} ms / {bare * 1000:.2f} ms, {PROMPTS} each, alternating",
    )


async def _acked(caller: Connection, body: bytes) -> float:
    """Return how long the first message took, once the last one has come: the worker is idle."""
    inbox = await caller.open_inbox()
    started = time.perf_counter()
    await caller.publish_request(subjects.task("measured"), body, reply=inbox.subject)
    took_s = 0.0
    while True:
        received = await inbox.next(20)
        assert received is not None
        took_s = took_s or time.perf_counter() - started
        message = codec.decode(received.body)
        assert not isinstance(message, Ack) or message.accepted
        if isinstance(message, Result):
            await inbox.close()
            return took_s


@asynccontextmanager
async def _echoing(url: str) -> AsyncGenerator[None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ECHO, url, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.kill()
        await process.communicate()


def _p99(times_s: Sequence[float]) -> float:
    return statistics.quantiles(times_s, n=100)[98]


async def test_the_events_of_one_run_on_their_way_to_its_caller(disk: Path, row: Row) -> None:
    async def tell(inbound: Inbound) -> None:
        request = codec.decode(inbound.body)
        assert isinstance(request, RequestPrompt)
        reply = ReplySet(inbound.respond, request, "measured", stream=True)
        await reply.ack(True, conversation_token="t")  # noqa: FBT003 - the word of the protocol
        for number in range(EVENTS):
            await reply.event(TextBlockEvent(text=f"line {number} of what the model says"))
        header = reply_header(request, "measured")
        await reply.finish(Result(**header, stop_reason="end_turn", text="done"))

    rates: list[float] = []
    busy_s = time.process_time()
    async with (
        running_broker(disk) as broker,
        connected(broker) as worker,
        connected(broker) as caller,
    ):
        service = await worker.service("measured")
        await service.add_endpoint("task", subjects.task("measured"), tell)
        client = AgentClient(caller, "measured", "bench")
        for _ in range(5):
            header = request_header(Sender(name="bench"), "measured")
            handlers = GaplessCaller()
            started = time.perf_counter()
            await client.run(RequestPrompt(**header, prompt="tell"), handlers)
            rates.append(EVENTS / (time.perf_counter() - started))
            assert len(handlers.blocks) == EVENTS
    row(
        f"{EVENTS} events of one run to its caller, gap-free",
        f"{statistics.median(rates):.0f} a second",
        "5000",
        f"{5 * EVENTS / (time.process_time() - busy_s):.0f} in a second of processor time, "
        "both sides in one process; median of 5",
    )
