"""Slots, drain, faults and the one outcome of every work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Protocol

import pytest

from fisk_ai.errors import SetupError
from fisk_ai.serving import barrier, pool
from fisk_ai.serving.contract import ChannelDoneError, Outcome, Work
from fisk_ai.serving.server import ReleaseError, Server


class HandChannel(Protocol):
    name: str
    outcomes: asyncio.Queue[Outcome]
    closed: int
    asked: int
    failure: Exception | None

    def put(self, work_id: str) -> Work: ...
    def put_work(self, work: Work) -> None: ...
    def put_error(self, error: Exception) -> None: ...
    def break_down(self, error: Exception) -> None: ...
    async def next(self) -> Work: ...
    async def close(self) -> None: ...


MakeChannel = Callable[..., HandChannel]


class Runs:
    """A runner whose runs a test holds and lets go."""

    def __init__(self) -> None:
        self.started: asyncio.Queue[Work] = asyncio.Queue()
        self.go_on = asyncio.Event()
        self.most = 0
        self._running = 0

    async def __call__(self, work: Work) -> Outcome:
        self._running += 1
        self.most = max(self.most, self._running)
        self.started.put_nowait(work)
        try:
            await self.go_on.wait()
        finally:
            self._running -= 1
        return Outcome(id=work.id, reason="completed", text="done")


class Closable:
    """A service that only notes that it was closed."""

    def __init__(self, name: str, order: list[str]) -> None:
        self.name = name
        self._order = order

    async def close(self) -> None:
        self._order.append(self.name)


@pytest.fixture
def runs() -> Runs:
    return Runs()


@pytest.fixture
async def serving() -> AsyncIterator[Callable[[Server], asyncio.Task[None]]]:
    tasks: list[asyncio.Task[None]] = []

    def start(server: Server) -> asyncio.Task[None]:
        tasks.append(asyncio.create_task(server.serve()))
        return tasks[-1]

    yield start
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


Start = Callable[[Server], asyncio.Task[None]]


async def _soon(queue: asyncio.Queue[Outcome]) -> Outcome:
    return await asyncio.wait_for(queue.get(), 5)


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_work_runs_and_its_outcome_is_reported(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel()
    serving(Server([channel], [], runs))
    channel.put("one")
    runs.go_on.set()

    outcome = await _soon(channel.outcomes)

    assert (outcome.id, outcome.reason, outcome.text) == ("one", "completed", "done")


async def test_no_more_works_run_at_once_than_the_channel_has_slots(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel(slots=3)
    serving(Server([channel], [], runs))
    for number in range(9):
        channel.put(str(number))
    for _ in range(3):
        await asyncio.wait_for(runs.started.get(), 5)
    await _settle()
    assert runs.started.empty()
    runs.go_on.set()

    outcomes = [await _soon(channel.outcomes) for _ in range(9)]

    assert runs.most == 3
    assert sorted(outcome.id for outcome in outcomes) == [str(number) for number in range(9)]


async def test_a_channel_that_names_no_number_has_two_slots(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel(slots=0)
    serving(Server([channel], [], runs))
    for number in range(4):
        channel.put(str(number))
    for _ in range(2):
        await asyncio.wait_for(runs.started.get(), 5)
    await _settle()

    assert runs.started.empty()


async def test_work_that_waits_for_a_slot_when_a_drain_begins_is_abandoned(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel(slots=1)
    server = Server([channel], [], runs)
    serve = serving(server)
    channel.put("running")
    channel.put("waiting")
    await asyncio.wait_for(runs.started.get(), 5)
    await _settle()

    await server.release()
    abandoned = await _soon(channel.outcomes)
    runs.go_on.set()
    completed = await _soon(channel.outcomes)
    await asyncio.wait_for(serve, 5)

    assert (abandoned.id, abandoned.abandoned) == ("waiting", True)
    assert (completed.id, completed.reason) == ("running", "completed")


async def test_a_drain_asks_running_work_to_park(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel()
    server = Server([channel], [], runs)
    serving(server)
    channel.put("one")
    work = await asyncio.wait_for(runs.started.get(), 5)
    before = work.suspend_requested()

    await server.release()

    assert not before
    assert work.suspend_requested()


async def test_a_channel_can_ask_one_run_to_park(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel()
    serving(Server([channel], [], runs))
    asked = False
    channel.put_work(Work(id="one", done=channel.outcomes.put, suspend_requested=lambda: asked))
    work = await asyncio.wait_for(runs.started.get(), 5)
    assert not work.suspend_requested()

    asked = True

    assert work.suspend_requested()


async def test_the_second_stop_cancels_runs_and_still_reports_each(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel(slots=2)
    server = Server([channel], [], runs)
    serve = serving(server)
    channel.put("one")
    channel.put("two")
    for _ in range(2):
        await asyncio.wait_for(runs.started.get(), 5)
    await server.release()

    await server.cancel_runs()
    outcomes = [await _soon(channel.outcomes) for _ in range(2)]
    await asyncio.wait_for(serve, 5)

    assert {outcome.id for outcome in outcomes} == {"one", "two"}
    assert all(outcome.canceled for outcome in outcomes)
    assert channel.outcomes.empty()


async def test_a_run_whose_work_was_lost_is_stopped_and_the_others_go_on(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel(slots=2)
    server = Server([channel], [], runs)
    serve = serving(server)
    lost = channel.put("lost")
    channel.put("kept")
    for _ in range(2):
        await asyncio.wait_for(runs.started.get(), 5)

    lost.lost.set()
    outcome = await _soon(channel.outcomes)

    assert (outcome.id, outcome.canceled) == ("lost", True)
    assert channel.outcomes.empty()
    await server.cancel_runs()
    await _soon(channel.outcomes)
    await asyncio.wait_for(serve, 5)


async def test_a_crashing_run_is_reported_once_and_the_worker_lives_on(
    make_channel: MakeChannel, serving: Start
) -> None:
    async def crash_once(work: Work) -> Outcome:
        if work.id == "bad":
            raise ZeroDivisionError("secret detail")
        return Outcome(id=work.id, reason="completed")

    channel = make_channel()
    serving(Server([channel], [], crash_once))
    channel.put("bad")
    channel.put("good")

    crashed = await _soon(channel.outcomes)
    good = await _soon(channel.outcomes)

    assert crashed.crashed
    assert crashed.error is None
    assert "secret" not in repr(crashed)
    assert good.reason == "completed"
    assert channel.outcomes.empty()


@pytest.mark.parametrize("how", ["raises", "hangs"])
async def test_a_channel_that_fails_to_take_an_outcome_loses_no_slot(
    make_channel: MakeChannel,
    runs: Runs,
    serving: Start,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    monkeypatch.setattr(barrier, "DONE_TIMEOUT_S", 0.05)

    async def done(_: Outcome) -> None:
        if how == "raises":
            raise RuntimeError("cannot be told")
        await asyncio.Event().wait()

    channel = make_channel(slots=1)
    serving(Server([channel], [], runs))
    runs.go_on.set()
    channel.put_work(Work(id="one", done=done))
    channel.put("two")

    assert (await _soon(channel.outcomes)).id == "two"


async def test_a_channel_that_fails_to_produce_is_asked_again(
    make_channel: MakeChannel, runs: Runs, serving: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "RETRY_S", 0.01)
    channel = make_channel()
    serving(Server([channel], [], runs))
    runs.go_on.set()
    channel.put_error(RuntimeError("hiccup"))
    channel.put("one")

    assert (await _soon(channel.outcomes)).id == "one"


async def test_a_failing_channel_does_not_hold_up_a_drain(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel()
    server = Server([channel], [], runs)
    serve = serving(server)
    channel.put_error(RuntimeError("hiccup"))
    await _settle()

    await server.cancel_runs()

    await asyncio.wait_for(serve, pool.RETRY_S - 1)
    assert channel.asked == 1
    assert runs.started.empty()


async def test_serving_ends_when_every_channel_is_done_although_a_service_is_open(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    order: list[str] = []
    channel = make_channel()
    serve = serving(Server([channel], [Closable("tools", order)], runs))
    channel.put_error(ChannelDoneError("over"))

    await asyncio.wait_for(serve, 5)

    assert order == []


async def test_services_alone_are_held_open_until_the_release(runs: Runs, serving: Start) -> None:
    order: list[str] = []
    server = Server([], [Closable("tools", order)], runs)
    serve = serving(server)
    await _settle()
    assert not serve.done()

    await server.release()

    await asyncio.wait_for(serve, 5)
    assert order == ["tools"]


async def test_a_fault_drains_lets_running_work_end_and_is_raised(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel()
    other = make_channel(name="other")
    serve = serving(Server([channel, other], [], runs))
    channel.put("one")
    work = await asyncio.wait_for(runs.started.get(), 5)

    other.break_down(RuntimeError("connection closed"))
    await _settle()

    assert work.suspend_requested()
    assert not serve.done()
    runs.go_on.set()
    assert (await _soon(channel.outcomes)).reason == "completed"
    with pytest.raises(RuntimeError, match="connection closed"):
        await asyncio.wait_for(serve, 5)
    assert (channel.closed, other.closed) == (1, 1)


async def test_a_fault_after_the_release_ends_nothing_badly(
    make_channel: MakeChannel, runs: Runs, serving: Start
) -> None:
    channel = make_channel()
    server = Server([channel], [], runs)
    serve = serving(server)
    channel.put("one")
    await asyncio.wait_for(runs.started.get(), 5)
    await server.release()

    channel.break_down(RuntimeError("connection closed"))
    runs.go_on.set()

    await asyncio.wait_for(serve, 5)
    assert (await _soon(channel.outcomes)).reason == "completed"
    assert channel.closed == 1


async def test_everything_is_closed_in_order_although_one_fails(
    make_channel: MakeChannel, runs: Runs
) -> None:
    order: list[str] = []
    first, second = make_channel(name="first"), make_channel(name="second")
    first.failure = RuntimeError("stuck")
    server = Server([first, second], [Closable("tools", order)], runs)

    with pytest.raises(ReleaseError, match="releasing first: stuck"):
        await server.release()

    assert (first.closed, second.closed) == (1, 1)
    assert order == ["tools"]


async def test_a_channel_without_close_is_left_when_the_drain_begins(
    runs: Runs, serving: Start
) -> None:
    left = asyncio.Event()

    class Endless:
        name = "endless"

        async def next(self) -> Work:
            try:
                await asyncio.Event().wait()
            finally:
                left.set()
            raise AssertionError

    server = Server([Endless()], [], runs)
    serve = serving(server)
    await _settle()

    assert not left.is_set()

    await server.release()

    await asyncio.wait_for(serve, 5)
    assert left.is_set()


def test_nothing_to_serve_is_refused(runs: Runs) -> None:
    with pytest.raises(SetupError, match="nothing to serve"):
        Server([], [], runs)


async def test_an_endpoint_without_a_name_is_refused(make_channel: MakeChannel, runs: Runs) -> None:
    with pytest.raises(SetupError, match="name"):
        Server([make_channel(name="")], [], runs)
