"""What a long session costs to read."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import pytest

from fisk_ai.sessions import codec
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Payload
from fisk_ai.testing.session_records import assistant, journal, result, user

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(60)]

RECORDS = 10_000
ROUNDS = 12
OUTPUT = '{"command":"stream info ORDERS","exit_code":0,"output":"' + "line of it\\n" * 20 + '"}'


def test_a_session_of_ten_thousand_records(row: Callable[[str, str, str, str], None]) -> None:
    lines = [
        codec.encode(record) for record in journal(*itertools.islice(_payloads(), RECORDS - 1))
    ]
    assert len(lines) == RECORDS
    folded: list[float] = []
    decoded: list[float] = []
    gc.collect()
    gc.freeze()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        records = [codec.decode(line) for line in lines]
        between = time.perf_counter()
        state = fold(records)
        ended = time.perf_counter()
        assert state.counters.tool_calls > 0
        assert state.last_seq == RECORDS
        decoded.append(between - started)
        folded.append(ended - between)
    gc.unfreeze()
    own, bare = statistics.median(folded), statistics.median(decoded)
    row(
        f"fold of {RECORDS} records / decoding them",
        f"{own / bare:.2f}x",
        "3x",
        f"{own * 1000:.0f} ms / {bare * 1000:.0f} ms, "
        f"{sum(map(len, lines)) / RECORDS:.0f} bytes each, medians of {ROUNDS}",
    )


def _payloads() -> Iterator[Payload]:
    """Yield what follows the first record: turns with two calls each."""
    for turn in itertools.count():
        first, second = f"call_{turn}_1", f"call_{turn}_2"
        yield assistant(first, second, say="Let me look at it.", iteration=2 * turn)
        yield result(first, OUTPUT)
        yield result(second, OUTPUT)
        yield assistant(say="That is how it stands.", iteration=2 * turn + 1)
        yield user("and the next one?")
