"""One start in each turn of the loop."""

from __future__ import annotations

import asyncio

from fisk_ai.toolkit.fisk.turns import Turns

STARTS = 20


async def start_many(turns: Turns) -> list[int]:
    """Return the turn of the loop in which each of many simultaneous starts came about."""
    turn = 0
    started: list[int] = []

    async def count() -> None:
        nonlocal turn
        while len(started) < STARTS:
            turn += 1
            await asyncio.sleep(0)

    async def start() -> None:
        async with turns.take():
            started.append(turn)

    await asyncio.gather(count(), *(start() for _ in range(STARTS)))
    return started


async def test_of_many_starts_no_two_fall_into_one_turn_of_the_loop() -> None:
    started = await start_many(Turns())
    assert len(set(started)) == STARTS


def test_turns_are_taken_in_one_loop_after_another() -> None:
    turns = Turns()
    for _ in range(2):
        assert len(set(asyncio.run(start_many(turns)))) == STARTS


async def test_a_cancelled_waiter_keeps_nobody_waiting() -> None:
    turns = Turns()
    async with asyncio.TaskGroup() as tasks:
        async with turns.take():
            waiting = tasks.create_task(start_many(turns))
            cancelled = tasks.create_task(turns.take().__aenter__())
            await asyncio.sleep(0)
            cancelled.cancel()
        assert len(set(await waiting)) == STARTS
    assert cancelled.cancelled()
