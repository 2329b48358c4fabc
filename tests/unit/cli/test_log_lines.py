"""What processes under a supervisor print."""

from __future__ import annotations

import asyncio
import os

import pytest

from fisk_ai.cli import log_lines


async def test_a_long_line_is_told_in_pieces_that_cut_no_character(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = "x" + "😀" * 40_000
    reading, writing = os.pipe()
    relaying = asyncio.create_task(log_lines.relay(reading, "one"))
    await asyncio.to_thread(_write, writing, f"{written}\n".encode())
    await relaying
    lines = capsys.readouterr().err.splitlines()
    assert "".join(line.removeprefix("one | ") for line in lines) == written
    assert len(lines) > 1


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(data)
