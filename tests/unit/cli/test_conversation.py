"""The terminal as a caller of an agent that speaks the protocol over a real broker."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from msgspec import UNSET, UnsetType

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.blocks import TRIM_NOTE
from fisk_ai.a2a.client import AgentClient, ClientLimits
from fisk_ai.a2a.messages import (
    AnyRequest,
    ElicitRequestSelect,
    ErrorTerminal,
    RequestAnswer,
    RequestPrompt,
    RequestRead,
    RequestResume,
    Result,
    UsageCounts,
    reply_header,
)
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.bus.connection import Connection, Inbound
from fisk_ai.cli.chat import LineReader
from fisk_ai.cli.conversation import Conversation, exit_code
from fisk_ai.cli.exchanges import LATE_ATTEMPTS
from fisk_ai.cli.handles import Handle
from fisk_ai.cli.hosting import Hosted
from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.remote import Remote
from fisk_ai.cli.resume_command import WayBack, WayThere
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.worker_child import WorkerChild
from fisk_ai.errors import SetupError, TaskError
from fisk_ai.render.keyboard import Keyboard
from fisk_ai.render.questions import TerminalPrompter
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Deferred
from fisk_ai.sessions.state import RunState
from fisk_ai.testing.broker import connected, running_broker
from fisk_ai.testing.session_records import assistant, journal, terminal

pytestmark = pytest.mark.integration

Play = Callable[[AnyRequest, ReplySet, Connection], Awaitable[None]]


class Lines:
    """The prompts that a person types, one after another, before they leave."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    async def read(self, kept: str = "") -> str:
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)

    def remember(self, text: str) -> None:
        pass


class Typist(io.StringIO):
    """A screen whose reader types ``keys`` as soon as an answer is asked for."""

    def __init__(self, descriptor: int, keys: bytes) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._keys = keys

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if text.startswith("answer"):
            os.write(self._descriptor, self._keys)
        return super().write(text)


@dataclass
class Stage:
    """A person's terminal, an agent made of one function, and the conversation between them."""

    conversation: Conversation
    worker: WorkerChild
    requests: list[AnyRequest] = field(default_factory=list[AnyRequest])

    @property
    def process(self) -> asyncio.subprocess.Process:
        return self.worker.process


async def _serve(connection: Connection, stage: list[AnyRequest], play: Play) -> None:
    async def handle(inbound: Inbound) -> None:
        request = codec.decode(inbound.body)
        assert isinstance(request, RequestPrompt | RequestAnswer | RequestResume | RequestRead)
        stage.append(request)
        await play(request, ReplySet(inbound.respond, request, "cow", stream=True), connection)

    async def no_card(inbound: Inbound) -> None:
        await inbound.refuse("500", "no card")

    service = await connection.service("cow", description="a stub")
    await service.add_endpoint("task", subjects.task("cow"), handle, bound=4)
    await service.add_endpoint("discovery", subjects.discovery("cow"), no_card, bound=4)


async def _is_stored(_: str) -> RunState | None:
    return fold(journal())


async def _is_not_stored(_: str) -> RunState | None:
    return None


@asynccontextmanager
async def _stage(
    directory: Path,
    play: Play | None,
    *,
    handle: Handle | None = None,
    stored: Callable[[str], Awaitable[RunState | None]] = _is_stored,
    keys: LineReader | None = None,
    api_key: str | None = None,
    elsewhere: bool = False,
) -> AsyncGenerator[Stage]:
    leader, follower = pty.openpty()
    requests: list[AnyRequest] = []
    async with (
        _sleeping() as process,
        running_broker(directory) as broker,
        connected(broker) as agent,
        connected(broker) as client,
    ):
        if play is not None:
            await _serve(agent, requests, play)
        child = WorkerChild("cow", process, -1, None)
        with os.fdopen(follower, encoding="utf-8") as stdin:
            prompter = TerminalPrompter(Keyboard(stdin), Typist(leader, b"2\n"))
            conversation = Conversation(
                flags=RunFlags(prompt="" if handle else "paint it", api_key=api_key),
                handle=handle or Handle(),
                agent=Remote(identity="cow", context="fleet", connection=client)
                if elsewhere
                else Hosted(broker=broker, worker=child, connection=client),
                prompter=prompter,
                interrupts=Interrupts(abort_question=prompter.abort),
                stored=stored,
                way_back=WayThere(context="fleet", identity="cow")
                if elsewhere
                else WayBack(flags=RunFlags(prompt="", api_key=api_key), rooted=True),
                keys=keys,
            )
            yield Stage(conversation, child, requests)
    os.close(leader)


@asynccontextmanager
async def _sleeping() -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run a process in the place of a worker; gone at the end, whatever the test did."""
    process = await asyncio.create_subprocess_exec("sleep", "600")
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _take(reply: ReplySet) -> None:
    await reply.ack(True, conversation_token="tok")  # noqa: FBT003 - the word of the protocol


async def _answer(request: AnyRequest, reply: ReplySet, text: str) -> None:
    header = reply_header(request, "cow")
    await reply.finish(Result(**header, stop_reason="end_turn", text=text))


async def _fail(
    request: AnyRequest, reply: ReplySet, code: str, usage: UsageCounts | UnsetType = UNSET
) -> None:
    header = reply_header(request, "cow")
    await reply.finish(ErrorTerminal(**header, error="no luck", code=code, usage=usage))


def _failing(code: str, usage: UsageCounts | UnsetType = UNSET) -> Play:
    """Return an agent whose turns end so."""

    async def play(request: AnyRequest, reply: ReplySet, _: Connection) -> None:
        await _take(reply)
        await _fail(request, reply, code, usage)

    return play


async def _ask_and_give_up(
    request: AnyRequest,
    reply: ReplySet,
    connection: Connection,
    *,
    code: str = "deferred",
    before: Callable[[], None] = lambda: None,
) -> None:
    """Ask a person to choose; call ``before`` and end with ``code`` when they have answered."""

    async def too_late(inbound: Inbound) -> None:
        before()
        await inbound.refuse("404", "this run is not waiting")
        await _fail(request, reply, code)

    await _take(reply)
    await connection.watch(subjects.elicit("cow", request.request), too_late)
    await reply.question(
        ElicitRequestSelect(
            **reply_header(request, "cow"),
            question_id="q",
            tool_use_id="c1",
            question="?",
            options=("red", "blue"),
        )
    )


async def test_a_late_answer_is_sent_once_on_its_own_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(request: AnyRequest, reply: ReplySet, connection: Connection) -> None:
        if isinstance(request, RequestAnswer):
            await _take(reply)
            await _answer(request, reply, "Blue it is.")
        else:
            await _ask_and_give_up(request, reply, connection)

    async with _stage(tmp_path, play) as stage:
        end = await stage.conversation.run()
    assert end.text == "Blue it is."
    assert exit_code(end) == 0
    answers = [request for request in stage.requests if isinstance(request, RequestAnswer)]
    assert [(each.conversation_token, each.answer.value) for each in answers] == [("tok", "blue")]
    printed = capsys.readouterr()
    assert printed.out == "Blue it is.\n"
    assert "your answer arrived after the run gave the question up; sending it now" in printed.err


async def test_a_late_answer_is_sent_again_while_the_conversation_is_busy_and_not_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(request: AnyRequest, reply: ReplySet, connection: Connection) -> None:
        if isinstance(request, RequestAnswer):
            await reply.ack(False, reason="busy")  # noqa: FBT003 - the word of the protocol
            await _fail(request, reply, "conversation_busy")
        else:
            await _ask_and_give_up(request, reply, connection)

    async with _stage(tmp_path, play) as stage:
        end = await stage.conversation.run()
    assert end.code == "deferred"
    answers = [request for request in stage.requests if isinstance(request, RequestAnswer)]
    assert len(answers) == LATE_ATTEMPTS
    assert len({each.request for each in answers}) == LATE_ATTEMPTS
    said = capsys.readouterr().err
    assert said.count("sending it now") == 1
    assert "delivering your answer failed: the conversation stayed busy" in said


def _waiting_for(tool: str) -> Callable[[str], Awaitable[RunState | None]]:
    async def stored(_: str) -> RunState | None:
        waits = Deferred(tool_use_id="a", tool_name=tool)
        return fold(journal(assistant("a"), waits, terminal("suspended")))

    return stored


@pytest.mark.parametrize(
    ("tool", "flag"), [("ask_human_confirm", "--confirm"), ("ask_human_select", "--select")]
)
async def test_a_run_that_waits_for_an_answer_says_how_to_give_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: str, flag: str
) -> None:
    async with _stage(tmp_path, _failing("deferred"), stored=_waiting_for(tool)) as stage:
        end = await stage.conversation.run()
    assert exit_code(end) == 0
    *_, answer, resume = capsys.readouterr().err.splitlines()
    assert answer.startswith(f"answer with {flag}: fisk-ai session answer t-")
    assert resume.startswith("resume with: fisk-ai run --resume t-")


async def test_no_person_is_told_to_answer_what_none_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with _stage(tmp_path, _failing("deferred"), stored=_waiting_for("open_ticket")) as stage:
        await stage.conversation.run()
    said = capsys.readouterr().err
    assert "session answer" not in said
    assert "resume with: fisk-ai run --resume t-" in said


async def test_an_answer_that_crosses_the_request_to_stop_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(request: AnyRequest, reply: ReplySet, connection: Connection) -> None:
        def stop() -> None:
            stage.conversation.interrupts.press(signal.SIGTERM)

        await _ask_and_give_up(request, reply, connection, code="suspended", before=stop)

    async with _stage(tmp_path, play) as stage:
        end = await stage.conversation.run()
    assert end.code == "suspended"
    assert len(stage.requests) == 1
    assert "your answer crossed the request to stop and is not sent" in capsys.readouterr().err


async def test_a_request_to_stop_withholds_no_answer_of_a_later_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(request: AnyRequest, reply: ReplySet, connection: Connection) -> None:
        if isinstance(request, RequestPrompt) and request.prompt == "which?":
            await _ask_and_give_up(request, reply, connection)
            return
        await _take(reply)
        if isinstance(request, RequestPrompt):
            stage.conversation.interrupts.press(signal.SIGTERM)
        await _answer(request, reply, "Done all the same.")

    async with _stage(tmp_path, play, keys=Lines("which?")) as stage:
        await stage.conversation.run()
    assert isinstance(stage.requests[-1], RequestAnswer)
    said = capsys.readouterr().err
    assert "asked the run to stop" in said
    assert "is not sent" not in said


async def test_a_chat_that_began_anew_is_no_resumed_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(request: AnyRequest, reply: ReplySet, _: Connection) -> None:
        await _take(reply)
        if isinstance(request, RequestPrompt):
            await _fail(request, reply, "canceled")
        else:
            await _answer(request, reply, "The last turn.")

    keys, handle = Lines("/clear and now?"), Handle(token="old")
    async with _stage(tmp_path, play, handle=handle, keys=keys) as stage:
        end = await stage.conversation.run()
    assert end.code == "canceled"
    said = capsys.readouterr().err.partition("--- context cleared ---")[2]
    assert "Run summary: " in said
    assert "resume with: fisk-ai run --resume t-" in said


@pytest.mark.parametrize("code", ["canceled", "context_exceeded"])
async def test_every_command_that_goes_on_says_that_a_key_was_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    keys, handle = Lines("/clear and now?"), Handle(token="old")

    async def play(request: AnyRequest, reply: ReplySet, _: Connection) -> None:
        await _take(reply)
        if isinstance(request, RequestPrompt):
            await _fail(request, reply, code)
        else:
            await _answer(request, reply, "The last turn.")

    async with _stage(tmp_path, play, handle=handle, keys=keys, api_key="hidden") as stage:
        await stage.conversation.run()
    lines = capsys.readouterr().err.splitlines()
    ways = [at for at, line in enumerate(lines) if "fisk-ai run --resume t-" in line]
    assert [lines[at + 1] for at in ways] == ["with the key that was typed: set it again"] * 2


async def test_nobody_under_the_agents_name_ends_the_run(tmp_path: Path) -> None:
    async with _stage(tmp_path, None) as stage:
        with pytest.raises(SetupError) as refused:
            await stage.conversation.run()
    assert str(refused.value) == 'the agent hosted for this run is not answering as "cow"'


async def test_a_set_that_breaks_off_is_never_taken_for_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(request: AnyRequest, reply: ReplySet, _: Connection) -> None:
        await _take(reply)
        stage.process.kill()

    async with _stage(tmp_path, play) as stage:
        end = await stage.conversation.run()
    with pytest.raises(TaskError) as failed:
        exit_code(end)
    assert failed.value.task_code == "crashed"
    assert str(failed.value) == "the agent did not finish: its process was killed (SIGKILL)"
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "resume with: fisk-ai run --resume t-" in printed.err


async def test_a_history_that_cannot_be_read_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = _failing("unknown_conversation")
    async with _stage(tmp_path, play, handle=Handle(token="tok")) as stage:
        end = await stage.conversation.run()
    with pytest.raises(TaskError, match="the agent has no conversation by that name"):
        exit_code(end)
    assert [type(request) for request in stage.requests] == [RequestRead]
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


_WORKED = UsageCounts(input_tokens=5, output_tokens=2, llm_calls=1)


@pytest.mark.parametrize(
    ("code", "usage", "stored", "said"),
    [
        ("rejected", UNSET, _is_stored, False),
        ("capacity", UNSET, _is_stored, False),
        ("conversation_busy", UsageCounts(), _is_stored, False),
        ("failed", UsageCounts(), _is_not_stored, False),
        ("failed", UsageCounts(), _is_stored, True),
        ("failed", _WORKED, _is_not_stored, True),
        ("budget_exhausted", _WORKED, _is_stored, True),
    ],
)
async def test_a_refusal_or_a_failed_set_up_says_nothing_but_its_error(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    code: str,
    usage: UsageCounts | UnsetType,
    stored: Callable[[str], Awaitable[RunState | None]],
    said: bool,
) -> None:
    async with _stage(tmp_path, _failing(code, usage), stored=stored) as stage:
        end = await stage.conversation.run()
    with pytest.raises(TaskError) as failed:
        exit_code(end)
    assert failed.value.task_code == code
    printed = capsys.readouterr().err
    assert ("Run summary: " in printed) == said
    assert ("resume with: " in printed) == (said and stored is _is_stored)
    assert "no luck" not in printed
    assert said or not printed


class Complete:
    """A session that is complete and knows the requests in ``known``."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    async def stored(self, _: str) -> RunState | None:
        state = fold(journal(assistant(say="It says Moo, and more."), terminal()))
        return replace(state, requests=frozenset(self.known))


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_run_whose_end_never_arrived_is_told_as_its_session_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_known: bool
) -> None:
    session = Complete()

    async def play(request: AnyRequest, reply: ReplySet, _: Connection) -> None:
        if is_known:
            session.known.add(request.request)
        await _take(reply)

    async with _stage(tmp_path, play, stored=session.stored) as stage:
        limits = ClientLimits(idle_s=0.05, live_idle_s=0.05)
        stage.conversation.exchanges.client = AgentClient(
            stage.conversation.agent.connection, "cow", "fisk-ai", limits=limits
        )
        end = await stage.conversation.run()
    printed = capsys.readouterr()
    if is_known:
        assert exit_code(end) == 0
        assert printed.out == "It says Moo, and more.\n"
        assert "resume with: " not in printed.err
    else:  # what the session holds is the turn before
        assert end.code == "incomplete"
        assert printed.out == ""
        assert "resume with: " in printed.err


async def test_an_answer_that_was_cut_to_fit_a_message_is_printed_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Complete()

    async def play(request: AnyRequest, reply: ReplySet, _: Connection) -> None:
        session.known.add(request.request)
        await _take(reply)
        await _answer(request, reply, f"It says Moo{TRIM_NOTE}")

    async with _stage(tmp_path, play, stored=session.stored) as stage:
        await stage.conversation.run()
    assert capsys.readouterr().out == "It says Moo, and more.\n"


_THERE = "resume with: fisk-ai run --nats-context fleet --identity cow --resume tok"


async def test_an_agent_elsewhere_that_says_no_more_leaves_the_outcome_open_and_the_way_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(_: AnyRequest, reply: ReplySet, __: Connection) -> None:
        await _take(reply)

    async with _stage(tmp_path, play, stored=_is_not_stored, elsewhere=True) as stage:
        stage.conversation.exchanges.client = AgentClient(
            stage.conversation.agent.connection,
            "cow",
            "fisk-ai",
            limits=ClientLimits(idle_s=5, live_idle_s=5, probe_s=0.05, lost_s=0.05),
        )
        end = await stage.conversation.run()
    with pytest.raises(TaskError, match="the agent stopped answering, so the work may be "):
        exit_code(end)
    assert _THERE in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ("suspended", True),
        ("deferred", True),
        ("crashed", True),
        ("failed", True),
        ("canceled", True),
        ("budget_exhausted", False),
        ("unknown_conversation", False),
        ("capacity", False),
    ],
)
async def test_the_token_is_told_where_an_agent_elsewhere_can_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, *, is_told: bool
) -> None:
    play = _failing(code, UsageCounts(input_tokens=1))
    async with _stage(tmp_path, play, stored=_is_not_stored, elsewhere=True) as stage:
        end = await stage.conversation.run()
    assert end.code == code
    said = capsys.readouterr().err
    assert (_THERE in said) is is_told
    assert "pass --verbose" not in said


async def test_a_chat_with_an_agent_elsewhere_opens_with_the_input_behind_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(request: AnyRequest, reply: ReplySet, _: Connection) -> None:
        await _take(reply)
        await _answer(request, reply, "" if isinstance(request, RequestRead) else "Moo.")

    keys, handle = Lines("and now?"), Handle(token="tok")
    staged = _stage(tmp_path, play, handle=handle, keys=keys, stored=_is_not_stored, elsewhere=True)
    async with staged as stage:
        await stage.conversation.run()
    assert [type(request) for request in stage.requests] == [RequestRead, RequestPrompt]
    assert _THERE in capsys.readouterr().err


async def test_a_connection_that_is_closed_for_good_ends_the_turn(tmp_path: Path) -> None:
    async def play(_: AnyRequest, reply: ReplySet, __: Connection) -> None:
        await _take(reply)

    async with _stage(tmp_path, play, stored=_is_not_stored, elsewhere=True) as stage:
        running = asyncio.ensure_future(stage.conversation.run())
        while not stage.conversation.turn.token:  # noqa: ASYNC110 - it has to be read there
            await asyncio.sleep(0.01)
        await stage.conversation.agent.connection.drop()
        end = await asyncio.wait_for(running, 10)
    assert end.code == "incomplete"
