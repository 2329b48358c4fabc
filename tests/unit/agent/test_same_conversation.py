"""Whatever a run does, the journal folds into the very conversation the model was shown."""

from __future__ import annotations

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fisk_ai.agent.options import NextPrompt, SuppliedAnswer
from fisk_ai.config import Config
from fisk_ai.errors import DeferredError, ProviderError
from fisk_ai.llm.model import Message, Response, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool

STOPS = st.sampled_from(["tool_use", "end_turn", "max_tokens", "refusal", "pause_turn"])
NAMES = st.lists(st.sampled_from(["look", "broken", "nowhere"]), max_size=3)
REPLIES = st.lists(st.one_of(st.none(), st.tuples(NAMES, STOPS)), min_size=1, max_size=6)


def answers(drawn: list[tuple[list[str], str] | None], turn: int) -> list[Response | Exception]:
    made: list[Response | Exception] = []
    for index, item in enumerate(drawn):
        if item is None:
            made.append(ProviderError("busy"))
        elif item[0]:
            calls = [(f"t{turn}r{index}c{n}", name) for n, name in enumerate(item[0])]
            made.append(call(*calls, stop_reason=item[1]))
        else:
            made.append(say(f"{turn}.{index}", stop_reason=item[1]))
    return made


def assert_sendable(messages: tuple[Message, ...]) -> None:
    """Never two user messages in a row, and one result per call right behind its reply.

    A paused reply is continued by the next one, so two of the model's may stand together.
    """
    assert messages[0].role == "user"
    for before, after in pairwise(messages):
        assert (before.role, after.role) != ("user", "user")
        calls = [block.id for block in before.content if isinstance(block, ToolUseBlock)]
        results = [b.tool_use_id for b in after.content if isinstance(b, ToolResultBlock)]
        assert results == calls


async def play(
    directory: Path, turns: list[list[tuple[list[str], str] | None]]
) -> tuple[list[tuple[Message, ...]], tuple[Message, ...]]:
    """Return what each request showed the model, and what the journal folds into."""

    async def fail(raw: bytes) -> str:
        raise RuntimeError("broken")

    config = Config.model_validate({"identity": "tester", "llm": {"model": "m"}})
    bench = AgentBench(store=FileStore(directory), config=config)
    bench.tools = [FakeTool(name="look"), FakeTool(name="broken", effect=fail)]
    shown: list[tuple[Message, ...]] = []
    for number, drawn in enumerate(turns):
        if number == 0:
            await bench.run(*answers(drawn, number))
        else:
            await bench.follow_up(f"turn {number}", *answers(drawn, number))
        shown += [request.messages for request in bench.model.requests]
    return shown, (await bench.store.load("bench")).messages


@settings(max_examples=40)
@given(st.lists(REPLIES, min_size=1, max_size=3))
def test_every_request_can_be_sent_and_folds_to_itself(
    turns: list[list[tuple[list[str], str] | None]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        shown, folded = asyncio.run(play(Path(directory), turns))
    for messages in shown:
        assert_sendable(messages)
    assert folded[: len(shown[-1]) - 1] == shown[-1][:-1]


async def wait_for_all(directory: Path, names: list[str], order: list[int]) -> None:
    """Answer the deferred calls of one batch in ``order`` and look at what the model is shown."""

    async def later(raw: bytes) -> str:
        raise DeferredError("later")

    config = Config.model_validate({"identity": "tester", "llm": {"model": "m"}})
    bench = AgentBench(store=FileStore(directory), config=config)
    phone = FakeTool(name="phone", effect=later)
    bench.tools = [FakeTool(name="look"), phone]
    result, _ = await bench.run(call(*((f"c{n}", name) for n, name in enumerate(names))), say("ok"))
    waiting = [f"c{n}" for n in order if names[n] == "phone"]
    for done, call_id in enumerate(waiting, 1):
        assert (result.reason, bench.model.requests[1:]) == ("suspended", [])
        assert {item.tool_use_id for item in result.deferred} == set(waiting[done - 1 :])
        answer = SuppliedAnswer(tool_use_id=call_id, content=call_id)
        result, _ = await bench.resume(say("ok"), answer=answer)
    assert (result.reason, result.text, len(phone.calls)) == ("completed", "ok", len(waiting))
    given_back = [
        block.tool_use_id
        for block in bench.model.requests[-1].messages[-1].content
        if isinstance(block, ToolResultBlock)
    ]
    assert sorted(given_back) == [f"c{n}" for n in range(len(names))]


@settings(max_examples=30)
@given(st.data())
def test_answers_may_come_in_any_order(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(["look", "phone"]), min_size=1, max_size=4))
    order = data.draw(st.permutations(range(len(names))))
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(wait_for_all(Path(directory), names, list(order)))


SAID = st.lists(
    st.one_of(
        st.sampled_from(["more", "", " "]),
        st.builds(NextPrompt, text=st.sampled_from(["", "fresh"]), reset=st.booleans()),
    ),
    max_size=6,
)


async def talk(
    directory: Path, said: list[NextPrompt | str], drawn: list[tuple[list[str], str] | None]
) -> None:
    config = Config.model_validate({"identity": "tester", "llm": {"model": "m"}})
    bench = AgentBench(store=FileStore(directory), config=config)
    bench.tools = [FakeTool(name="look"), FakeTool(name="broken")]
    filler = [say(f"end {n}") for n in range(len(said) + len(drawn) + 1)]
    result, _ = await bench.converse(said, *answers(drawn, 0), *filler)
    assert result.reason == "suspended"
    for request in bench.model.requests:
        assert_sendable(request.messages)
    for row in await bench.store.list(Filter()):
        assert row.status == "suspended"
        state = await bench.store.load(row.run_id)
        assert (state.pending, state.meta.interactive) == (None, True)
    folded = (await bench.store.load(result.session_id)).messages
    shown = bench.model.requests[-1].messages
    assert folded[: len(shown) - 1] == shown[:-1]


@settings(max_examples=40)
@given(SAID, REPLIES)
def test_a_person_never_breaks_a_conversation(
    said: list[NextPrompt | str], drawn: list[tuple[list[str], str] | None]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(talk(Path(directory), said, drawn))
