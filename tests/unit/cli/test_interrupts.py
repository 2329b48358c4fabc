"""What each signal does at each moment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Generator, Sequence

import pytest

from fisk_ai.cli.interrupts import Interrupts

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _nobody_is_asked() -> bool:
    return False


async def _run(presses: Callable[[Interrupts], None], said: list[str]) -> str:
    interrupts = Interrupts(abort_question=_nobody_is_asked)
    interrupts.forcing(lambda: said.append("forced"))
    with interrupts.asking(lambda _: said.append("asked")):
        presses(interrupts)
        await asyncio.sleep(0)
    return "finished"


async def test_the_first_signal_asks_and_the_second_leaves() -> None:
    said: list[str] = []

    def presses(interrupts: Interrupts) -> None:
        interrupts.press(signal.SIGINT)
        assert said == ["asked"]
        interrupts.press(signal.SIGTERM)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(_run(presses, said))
    assert said == ["asked"]


async def test_one_signal_alone_leaves_nothing() -> None:
    said: list[str] = []
    task = asyncio.ensure_future(_run(lambda interrupts: interrupts.press(signal.SIGINT), said))
    assert await task == "finished"


async def test_a_signal_after_leaving_ends_every_wait() -> None:
    said: list[str] = []

    def presses(interrupts: Interrupts) -> None:
        for _ in range(3):
            interrupts.press(signal.SIGINT)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(_run(presses, said))
    assert said == ["asked", "forced"]


async def _outside_a_turn(interrupts_seen: list[Interrupts]) -> None:
    interrupts = Interrupts(abort_question=_nobody_is_asked)
    interrupts_seen.append(interrupts)
    interrupts.press(signal.SIGINT)
    await asyncio.sleep(0)


async def test_outside_a_turn_the_first_signal_leaves() -> None:
    seen: list[Interrupts] = []
    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(_outside_a_turn(seen))
    assert seen[0].left


async def test_an_open_question_takes_ctrl_c_and_nothing_else() -> None:
    said: list[str] = []

    def abort() -> bool:
        said.append("aborted")
        return True

    interrupts = Interrupts(abort_question=abort)
    with interrupts.asking(lambda _: said.append("asked")):
        interrupts.press(signal.SIGINT)
        assert said == ["aborted"]
        interrupts.press(signal.SIGTERM)
    assert said == ["aborted", "asked"]
    assert not interrupts.left


async def test_real_signals_arrive_while_installed() -> None:
    asked = asyncio.Event()
    interrupts = Interrupts(abort_question=_nobody_is_asked)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with interrupts.installed(), interrupts.asking(lambda _: asked.set()):
            os.kill(os.getpid(), signal.SIGTERM)
            async with asyncio.timeout(5):
                await asked.wait()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not interrupts.left


@pytest.fixture
def effects() -> Generator[None]:
    """What the signals do is as before after the test; a terminal that hung up changes it."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    for number, effect in before.items():
        signal.signal(number, effect)


async def _hung_up(stopped: list[str], behind: Sequence[signal.Signals] = ()) -> None:
    """Be interrupted at a question and stop the agent, while more signals come."""
    interrupts = Interrupts(abort_question=_no_question_is_ended)
    interrupts.forcing(lambda: stopped.append("forced"))
    with interrupts.installed():
        try:
            with interrupts.asking(lambda _: stopped.append("asked")):
                os.kill(os.getpid(), signal.SIGHUP)
                await asyncio.get_running_loop().create_future()
        finally:
            for number in behind:
                os.kill(os.getpid(), number)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            stopped.append("parked")
    for number in behind:
        os.kill(os.getpid(), number)


def _no_question_is_ended() -> bool:
    raise AssertionError("a question was ended")


@pytest.mark.usefixtures("effects")
async def test_a_terminal_that_hangs_up_leaves_and_ends_no_question() -> None:
    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(_hung_up([]))


@pytest.mark.usefixtures("effects")
@pytest.mark.parametrize("number", _SIGNALS)
async def test_no_signal_behind_a_hang_up_cuts_the_stop_of_the_agent_short(
    number: signal.Signals,
) -> None:
    stopped: list[str] = []
    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(_hung_up(stopped, behind=[number] * 3))
    assert stopped == ["parked"]
    assert all(signal.getsignal(each) is signal.SIG_IGN for each in _SIGNALS)


@pytest.mark.usefixtures("effects")
async def test_a_hang_up_does_not_cut_short_who_leaves_already() -> None:
    async def leaves() -> str:
        interrupts = Interrupts(abort_question=_nobody_is_asked)
        interrupts.press(signal.SIGTERM)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        interrupts.press(signal.SIGHUP)
        await asyncio.sleep(0)
        return "stopped"

    assert await asyncio.ensure_future(leaves()) == "stopped"


async def test_who_is_not_to_hear_of_it_goes_on_when_the_terminal_hangs_up() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts(abort_question=_nobody_is_asked).installed():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
