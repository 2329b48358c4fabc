from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.agent.journal_writer import JournalWriter
from fisk_ai.errors import LockedError, StoreError, UnwritableError
from fisk_ai.llm.model import Request, Response
from fisk_ai.llm.provider import DeltaSink
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import (
    Assistant,
    Claim,
    Meta,
    Payload,
    Record,
    Terminal,
    ToolResult,
    User,
)
from fisk_ai.sessions.store import Journal
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.tools import FakeTool

Refusal = Callable[[Payload | str], Exception | None]


class Failing:
    """A journal that fails as ``refuse`` says of a payload, of ``held`` and of ``close``."""

    def __init__(self, journal: Journal, refuse: Refusal) -> None:
        self._journal = journal
        self._refuse = refuse

    def last_seq(self) -> int:
        return self._journal.last_seq()

    def _check(self, what: Payload | str) -> None:
        error = self._refuse(what)
        if error is not None:
            raise error

    async def append(self, seq: int, payload: Payload) -> None:
        self._check(payload)
        await self._journal.append(seq, payload)

    async def records(self) -> list[Record]:
        return await self._journal.records()

    async def check_held(self) -> None:
        self._check("held")

    async def close(self) -> None:
        await self._journal.close()
        self._check("close")


class FailingStore(FileStore):
    """Opens journals that fail."""

    def __init__(self, directory: Path, refuse: Refusal) -> None:
        super().__init__(directory)
        self._refuse = refuse

    # a narrower journal is all that the contract asks for
    async def create(self, run_id: str, meta: Meta) -> Journal:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        return Failing(await super().create(run_id, meta), self._refuse)

    async def open(self, run_id: str, *, take_over: bool = False) -> Journal:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        return Failing(await super().open(run_id, take_over=take_over), self._refuse)


def once(kind: type[object], error: Exception) -> Refusal:
    left = [error]

    def refuse(what: Payload | str) -> Exception | None:
        return left.pop() if left and isinstance(what, kind) else None

    return refuse


def always(wanted: type[object] | str, error: Exception) -> Refusal:
    def refuse(what: Payload | str) -> Exception | None:
        hit = what == wanted if isinstance(wanted, str) else isinstance(what, wanted)
        return error if hit else None

    return refuse


async def test_a_result_that_could_not_be_recorded_ends_the_run(
    bench: AgentBench, runs: Path
) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    bench.store = FailingStore(runs, once(ToolResult, StoreError("the disk is full")))
    result, error = await bench.run(call(("a", "look"), ("b", "look")))
    assert (result.reason, str(error)) == ("error", "journaling run: the disk is full")
    assert len(tool.calls) == 1


async def test_a_record_in_doubt_is_settled_before_the_terminal(
    bench: AgentBench, runs: Path
) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    bench.store = FailingStore(runs, once(ToolResult, StoreError("the disk is full")))
    await bench.run(call(("a", "look")))
    assert await bench.kinds() == ["Meta", "Assistant", "ToolResult", "Terminal"]
    await bench.resume(say("done"))
    assert len(tool.calls) == 1


async def test_a_reply_that_could_not_be_recorded_runs_no_tool(
    bench: AgentBench, runs: Path
) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    bench.store = FailingStore(runs, always(Assistant, StoreError("the disk is full")))
    result, _ = await bench.run(call(("a", "look")))
    assert (result.reason, tool.calls) == ("error", [])
    assert bench.events.warnings() == ["journal_terminal"]


async def test_a_lost_terminal_is_a_warning(bench: AgentBench, runs: Path) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.store = FailingStore(runs, always(Terminal, StoreError("the disk is full")))
    result, error = await bench.run(say("hello"))
    assert (result.reason, result.text, error) == ("completed", "hello", None)
    assert bench.events.warnings() == ["journal_terminal"]


async def test_a_failed_close_is_a_warning(bench: AgentBench, runs: Path) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.store = FailingStore(runs, always("close", StoreError("stale handle")))
    result, error = await bench.run(say("hello"))
    assert (result.reason, error) == ("completed", None)
    assert bench.events.warnings() == ["journal_close"]


async def test_a_run_that_lost_its_session_starts_no_tool(bench: AgentBench, runs: Path) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    bench.store = FailingStore(runs, always("held", LockedError("another writer took it")))
    result, error = await bench.run(call(("a", "look")))
    assert (result.reason, tool.calls) == ("error", [])
    assert "no longer safe to continue" in str(error)
    assert not isinstance(error, LockedError)
    assert bench.events.names()[-1] == "tool_call"


async def test_a_claim_that_fails_ends_the_resume_before_anything_ran(
    bench: AgentBench, runs: Path
) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(call(("a", "look")), suspend_requested=lambda: bool(bench.model.requests))
    before = await bench.kinds()
    bench.store = FailingStore(runs, always(Claim, LockedError("another writer took it")))
    result, error = await bench.resume()
    assert isinstance(error, LockedError)
    assert "nothing ran here" in str(error)
    assert (result.reason, bench.model.requests) == (None, [])
    assert await bench.kinds() == before
    await (await FileStore(runs).open("bench")).close()


async def test_a_context_that_could_not_be_recorded_ends_the_set_up(
    bench: AgentBench, runs: Path
) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.store = FailingStore(runs, once(User, StoreError("the disk is full")))
    result, error = await bench.run(context="the log")
    assert (result.reason, str(error)) == (None, "the disk is full")
    again, _ = await bench.run(say("done"), context="the log")
    assert again.reason == "completed"


async def test_a_prompt_that_could_not_be_recorded_is_not_taken(
    bench: AgentBench, runs: Path
) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"))
    bench.store = FailingStore(runs, always(User, StoreError("the disk is full")))
    result, _ = await bench.follow_up("more")
    assert (result.reason, result.follow_up_taken, bench.model.requests) == ("error", False, [])


async def test_a_cancelled_model_call_parks_the_session(bench: AgentBench) -> None:
    asked = asyncio.Event()

    class Silent(ScriptedProvider):
        async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
            asked.set()
            await asyncio.Event().wait()
            return await super().call(request, on_delta)

    bench.tools = [FakeTool(name="look")]
    task = asyncio.ensure_future(bench.run(provider=Silent()))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await bench.payloads())[-1] == Terminal(
        reason="suspended", message="the worker stopped the run"
    )
    result, _ = await bench.resume(say("done"))
    assert result.reason == "completed"


async def test_an_append_is_finished_before_a_cancellation_goes_on() -> None:
    written: list[Payload] = []
    started, may_end = asyncio.Event(), asyncio.Event()

    class Slow:
        def last_seq(self) -> int:
            return len(written)

        async def append(self, seq: int, payload: Payload) -> None:
            if seq <= len(written):
                return
            started.set()
            await may_end.wait()
            written.append(payload)

        async def records(self) -> list[Record]:
            return []

        async def check_held(self) -> None: ...

        async def close(self) -> None: ...

    writer = JournalWriter(Slow())
    terminal = Terminal(reason="suspended")
    first = asyncio.ensure_future(writer.write(Claim(by="me", claimed="now")))
    await started.wait()
    first.cancel()
    asyncio.get_running_loop().call_soon(may_end.set)
    with pytest.raises(asyncio.CancelledError):
        await first
    await writer.write(terminal)
    assert written == [Claim(by="me", claimed="now"), terminal]


async def test_a_record_that_can_never_be_written_does_not_bar_the_terminal(
    bench: AgentBench, runs: Path
) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.store = FailingStore(runs, always(Assistant, UnwritableError("breaks its own rules")))
    result, _ = await bench.run(say("hello"))
    assert result.reason == "error"
    assert await bench.kinds() == ["Meta", "Terminal"]
    assert bench.events.warnings() == []
