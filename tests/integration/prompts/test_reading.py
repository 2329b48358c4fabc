"""Reads of a stored conversation, and history before a follow-up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.llm.model import Usage
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import Assistant, Meta, Record, User
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import Bench, Hold, error_of, model, names, prompt, read, text_of
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration


class SlowStore(FileStore):
    """Loads the conversation of token ``T1`` when the test says so."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.loads = 0
        self.go = asyncio.Event()

    async def records(self, run_id: str) -> list[Record]:
        if run_id == session_id_for_token("billing", "T1"):
            self.loads += 1
            await asyncio.wait_for(self.go.wait(), 10)
        return await super().records(run_id)


class BrokenStore(FileStore):
    """Fails in a way that no store may."""

    async def records(self, run_id: str) -> list[Record]:
        raise ZeroDivisionError("/home/someone")


async def test_a_read_replays_what_was_said_while_a_turn_runs(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    serving = await bench.serve(model(say("one"), call(("u1", "ls")), say("two")), tools=[tool])
    client = bench.client()
    token = (await client.run(prompt("first"), RecordingCaller())).token
    run = asyncio.create_task(client.run(prompt("second", token=token), RecordingCaller()))
    await hold.begun.wait()
    reader = RecordingCaller()
    end = await client.run(read(token), reader)
    assert names(reader.blocks) == ["Status", "Prompt", "Text", "Prompt", "ToolCall", "Status"]
    records = await bench.store.records(session_id_for_token("billing", token))
    spoken = [each.time for each in records if isinstance(each.payload, Meta | Assistant | User)]
    assert [getattr(block, "time", "") for block in reader.blocks[1:-1]] == spoken
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


async def test_a_read_that_meets_a_bug_still_ends(bench: Bench, tmp_path: Path) -> None:
    bench.store = BrokenStore(tmp_path / "broken")
    await bench.serve(model())
    end = error_of(await bench.client().run(read("T1"), RecordingCaller()))
    assert (end.code, end.error) == ("failed", "reading the stored conversation failed")


async def test_slow_reads_leave_intake_free_and_a_fifth_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    bench.store = slow = SlowStore(tmp_path / "slow")
    await bench.serve(model(say("Fine.")))
    client = bench.client()

    callers = [RecordingCaller() for _ in range(4)]
    reads = [asyncio.create_task(client.run(read("T1"), caller)) for caller in callers]
    for caller in callers:
        await asyncio.wait_for(caller.acked.wait(), 5)
    fifth = await client.run(read("T1"), RecordingCaller())
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


async def test_an_older_journal_with_negative_counts_is_read_and_continued(
    bench: Bench, tmp_path: Path
) -> None:
    await bench.serve(model(say("one"), say("two", usage=Usage(input=-9, output=-9))))
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    (journal,) = (tmp_path / "runs").rglob(f"{session_id_for_token('billing', token)}*.json")
    written = journal.read_bytes()
    assert b'"in_tokens":1' in written
    journal.write_bytes(written.replace(b'"in_tokens":1', b'"in_tokens":-10'))
    reader = RecordingCaller()
    end = await client.run(read(token), reader)
    assert isinstance(end.terminal, m.Result)
    assert end.terminal.usage == m.UsageCounts(output_tokens=1)
    assert names(reader.blocks) == ["Status", "Prompt", "Text", "Status"]
    end = await client.run(prompt("more", token=token), RecordingCaller())
    assert text_of(end) == "two"
    assert isinstance(end.terminal, m.Result)
    assert end.terminal.usage == m.UsageCounts(output_tokens=1, llm_calls=2)


async def test_a_conversation_that_cannot_be_read_is_told_without_its_detail(
    bench: Bench, tmp_path: Path
) -> None:
    await bench.serve(model(say("one")))
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    (journal,) = (tmp_path / "runs").rglob(f"{session_id_for_token('billing', token)}*.json")
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    end = await client.run(read(token), RecordingCaller())
    assert error_of(end).error == "reading the stored conversation failed"
    caller = RecordingCaller()
    end = await client.run(prompt(token=token, replay=5), caller)
    assert isinstance(end.terminal, m.ErrorTerminal)
    assert caller.blocks == []
