"""A broker that takes less than the largest message of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fisk_ai.a2a.messages import Result
from fisk_ai.bus.connection import Connection, ConnectOptions, connect
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.agent import say
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import Bench, model, prompt

pytestmark = pytest.mark.integration

MAX_PAYLOAD = 65_536
HEADERS_AND_FACTS_BYTES = 700
"""More than what a terminal holds beside its text."""


@pytest.fixture
async def connections(tmp_path: Path) -> AsyncIterator[tuple[Connection, Connection]]:
    configuration = f'listen: "127.0.0.1:-1"\nmax_payload: {MAX_PAYLOAD}'
    async with running_server(tmp_path / "server", configuration) as url:
        worker = await connect(ConnectOptions(url, "worker"))
        caller = await connect(ConnectOptions(url, "caller"))
        yield worker, caller
        await caller.drain()
        await worker.drain()


@pytest.fixture
async def small(
    bench: Bench, connections: tuple[Connection, Connection], tmp_path: Path
) -> AsyncIterator[Bench]:
    worker, caller = connections
    found = Bench(worker, caller, FileStore(tmp_path / "small"), bench.intake)
    yield found
    await found.stop()


async def test_an_answer_over_the_limit_of_a_broker_is_cut_to_all_that_it_takes(
    small: Bench,
) -> None:
    answer = "x" * 100_000
    await small.serve(model(say(answer)))
    end = await small.client().run(prompt("go"), RecordingCaller())
    assert isinstance(end.terminal, Result)
    kept, _, note = end.terminal.text.rpartition("\n")
    assert note.startswith("[trimmed")
    assert answer.startswith(kept)
    assert MAX_PAYLOAD - len(kept) < HEADERS_AND_FACTS_BYTES
