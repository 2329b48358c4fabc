from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fisk_ai.errors import (
    AlreadyAnsweredError,
    InvalidIdError,
    LockedError,
    NotDeferredError,
    NotFoundError,
    ResultTooLargeError,
)
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions import supply
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.fold import fold, in_doubt
from fisk_ai.sessions.records import CallApproval, Deferred, Payload, ToolResult
from fisk_ai.sessions.state import RunState
from fisk_ai.testing.session_records import assistant, claim, journal, result, terminal, user, write

DEFERRED = Deferred(tool_use_id="a", tool_name="ask", note="which?", handle="h")
PARKED = (assistant("a", "b"), DEFERRED, result("b"), terminal("suspended"))


def _state(*payloads: Payload) -> RunState:
    return fold(journal(*payloads))


def test_a_deferred_call_takes_an_answer() -> None:
    assert supply.check(_state(*PARKED), "a", "red") == DEFERRED


@pytest.mark.parametrize(
    ("payloads", "call", "error"),
    [
        pytest.param((), "a", NotDeferredError, id="no turn"),
        pytest.param((), "", NotDeferredError, id="no id"),
        pytest.param(PARKED, "c", NotDeferredError, id="no such call"),
        pytest.param(PARKED, "b", NotDeferredError, id="the tool answered it itself"),
        pytest.param(
            (assistant("a", "b"), DEFERRED, result("a")), "a", AlreadyAnsweredError, id="since"
        ),
        pytest.param((*PARKED, result("a")), "a", AlreadyAnsweredError, id="committed"),
        pytest.param(
            (*PARKED, result("a"), assistant("a"), DEFERRED),
            "a",
            AlreadyAnsweredError,
            id="the committed conversation comes first",
        ),
        pytest.param((assistant("a"),), "a", NotDeferredError, id="open and not deferred"),
    ],
)
def test_an_answer_is_refused_for_what_the_journal_says(
    payloads: tuple[Payload, ...], call: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        supply.check(_state(*payloads), call, "red")


def test_an_answer_is_measured_in_bytes_and_before_anything_else() -> None:
    largest = "é" * (supply.RESULT_LIMIT_BYTES // 2)
    supply.check(_state(*PARKED), "a", largest)
    for call in ("a", "c"):
        with pytest.raises(ResultTooLargeError, match="262145 bytes"):
            supply.check(_state(*PARKED), call, largest + "x")


async def test_an_answer_is_one_record_and_the_session_an_ordinary_one(store: FileStore) -> None:
    await write(store, "one", *PARKED)
    await supply.supply(store, "one", "a", "red \ud83d", is_error=True)
    records = await store.records("one")
    assert len(records) == len(PARKED) + 2
    answer = ToolResultBlock("a", "red \ufffd", is_error=True)
    assert records[-1].payload == ToolResult(tool_use_id="a", result=answer)
    state = await store.load("one")
    assert (state.status, state.pending, state.open_deferrals) == ("open", None, ())
    assert in_doubt(records) is None
    await (await store.open("one")).close()


async def test_a_refused_answer_takes_no_lock_and_writes_nothing(store: FileStore) -> None:
    await write(store, "one", *PARKED)
    held = await store.open("one")
    with pytest.raises(NotDeferredError):
        await supply.supply(store, "one", "c", "red")
    with pytest.raises(LockedError):
        await supply.supply(store, "one", "a", "red")
    await held.close()
    assert (await store.load("one")).last_seq == len(PARKED) + 1


async def test_what_is_no_session_is_answered_by_nobody(store: FileStore) -> None:
    with pytest.raises(NotFoundError):
        await supply.supply(store, "one", "a", "red")
    with pytest.raises(InvalidIdError):
        await supply.supply(store, "../one", "a", "red")
    with pytest.raises(ResultTooLargeError):
        await supply.supply(store, "one", "a", "x" * (supply.RESULT_LIMIT_BYTES + 1))


async def test_of_two_answers_one_counts(store: FileStore) -> None:
    await write(store, "one", *PARKED)
    ended = await asyncio.gather(
        *(supply.supply(store, "one", "a", text) for text in ("red", "blue")),
        return_exceptions=True,
    )
    refused = [error for error in ended if error is not None]
    assert len(refused) == 1
    assert isinstance(refused[0], AlreadyAnsweredError | LockedError)
    assert (await store.load("one")).counters.tool_calls == 2


class _Overtaken(FileStore):
    """A store in which somebody writes between every load and the open behind it."""

    async def load(self, run_id: str) -> RunState:
        state = await super().load(run_id)
        handle = await super().open(run_id)
        await handle.append(handle.last_seq() + 1, self.meanwhile)
        await handle.close()
        return state

    meanwhile: Payload = claim()


async def test_an_answer_is_judged_by_what_stands_in_the_journal_when_it_is_written(
    store: FileStore, directory: Path
) -> None:
    await write(store, "one", *PARKED)
    overtaken = _Overtaken(directory)
    overtaken.meanwhile = result("a", "first")
    with pytest.raises(AlreadyAnsweredError):
        await supply.supply(overtaken, "one", "a", "second")


async def test_a_session_that_never_stands_still_is_left_to_who_writes_it(
    store: FileStore, directory: Path
) -> None:
    await write(store, "one", *PARKED)
    with pytest.raises(LockedError, match="being written"):
        await supply.supply(_Overtaken(directory), "one", "a", "red")
    assert (await store.load("one")).open_deferrals == (DEFERRED,)


async def test_an_approval_is_one_record_that_leaves_no_doubt(store: FileStore) -> None:
    await write(store, "one", assistant("a", "b"), result("a"), terminal("suspended"))
    digest = args_sha256("say", b'{"message":"Moo"}')
    approval = CallApproval(tool_use_id="b", tool_name="say", args_sha256=digest)
    await supply.approve(store, "one", approval)
    records = await store.records("one")
    assert [record.payload for record in records[4:]] == [approval]
    assert in_doubt(records) is None
    assert (await store.load("one")).one_shot_approvals == {"b": approval}


async def test_a_declined_call_has_a_result_and_is_never_run(store: FileStore) -> None:
    await write(store, "one", assistant("a"), terminal("suspended"))
    await supply.decline(store, "one", "a", '{"allowed":false}')
    state = await store.load("one")
    assert state.pending is None
    assert state.messages[-1].content == (ToolResultBlock("a", '{"allowed":false}'),)


@pytest.mark.parametrize(
    ("payloads", "error"),
    [
        pytest.param((user("x"),), NotDeferredError, id="no turn"),
        pytest.param((assistant("b"),), NotDeferredError, id="another call"),
        pytest.param((assistant("a"), result("a")), AlreadyAnsweredError, id="committed"),
        pytest.param((assistant("a", "b"), result("a")), AlreadyAnsweredError, id="answered"),
        pytest.param(PARKED, NotDeferredError, id="deferred"),
    ],
)
async def test_only_an_open_call_is_decided_about(
    store: FileStore, payloads: tuple[Payload, ...], error: type[Exception]
) -> None:
    await write(store, "one", *payloads)
    with pytest.raises(error):
        await supply.approve(store, "one", CallApproval(tool_use_id="a", tool_name="say"))
    with pytest.raises(error):
        await supply.decline(store, "one", "a", "no")
    assert (await store.load("one")).last_seq == len(payloads) + 1
