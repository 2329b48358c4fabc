"""A broker that is stopped: it is noticed, and nobody waits long to leave it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path

import pytest

from fisk_ai.bus import signals
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import DRAIN_PROBE_S, Connection, ConnectOptions, connect
from fisk_ai.bus.heartbeat import SILENT_BEATS, wait_silent
from fisk_ai.errors import BusError

BEAT_S = 0.05


def _stop(broker: Broker) -> None:
    """Stop the broker, every thread of it."""
    os.kill(broker.pid, signal.SIGSTOP)
    tasks = Path(f"/proc/{broker.pid}/task")
    while any(") T " not in stat.read_text() for stat in tasks.glob("*/stat")):
        continue


async def _silent_after_s(connection: Connection) -> float:
    began_s = asyncio.get_running_loop().time()
    async with asyncio.timeout(10):
        await wait_silent(connection, beat_s=BEAT_S)
    return asyncio.get_running_loop().time() - began_s


async def test_a_broker_that_answers_is_not_silent(caller: Connection) -> None:
    beat_s = 0.3  # a machine under load answers late, and three late answers are a silence
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(4 * beat_s):
            await wait_silent(caller, beat_s=beat_s)


async def test_a_broker_that_is_stopped_is_silent_after_some_beats(
    broker: Broker, caller: Connection
) -> None:
    _stop(broker)
    try:
        took_s = await _silent_after_s(caller)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    await caller.flush(5)  # the beats that went unanswered broke nothing
    assert took_s > (SILENT_BEATS - 1) * BEAT_S
    assert (caller.connected, caller.returns) == (True, 0)


async def test_a_broker_that_is_gone_is_silent(broker: Broker, caller: Connection) -> None:
    await broker.stop()
    took_s = await _silent_after_s(caller)
    assert took_s > (SILENT_BEATS - 1) * BEAT_S
    assert not caller.connected


async def test_a_connection_to_a_stopped_broker_is_dropped_at_once(broker: Broker) -> None:
    connection = await connect(ConnectOptions(broker.url_with_credentials, "test"))
    inbox = await connection.open_inbox()
    _stop(broker)
    try:
        async with asyncio.timeout(DRAIN_PROBE_S):  # what a drain waits before it gives up
            await connection.publish("there", b"x" * 1_000_000, headers={})
            await connection.drop()
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    with pytest.raises(BusError, match="closed"):
        await inbox.next(5)
    with pytest.raises(BusError):
        await connection.publish("there", b"")
    await inbox.close()


async def test_draining_to_a_stopped_broker_ends_soon_and_complains_of_nothing(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    connection = await connect(ConnectOptions(broker.url_with_credentials, "test"))
    await connection.open_inbox()
    _stop(broker)
    try:
        with caplog.at_level(logging.ERROR, "asyncio"):
            async with asyncio.timeout(8):
                await connection.drain()
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    assert caplog.records == []


async def test_a_child_keeps_its_status_however_late_it_is_signalled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = await asyncio.create_subprocess_exec("sh", "-c", "exit 3")
    while process.returncode is None:
        signals.send(process, signal.SIGCONT)
        await asyncio.sleep(0)
    signals.send(process, signal.SIGCONT)
    assert await process.wait() == 3
    assert caplog.records == []
