"""Standard error is commentary: a run goes on, and its answer comes out, when nobody takes it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from fisk_ai.testing.command import Agent, command_path

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


@contextmanager
def _full() -> Generator[int]:
    with Path("/dev/full").open("wb") as full:
        yield full.fileno()


@contextmanager
def _unread() -> Generator[int]:
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize("verbose", [[], ["--verbose"]])
@pytest.mark.parametrize("place", [_full, _unread])
def test_a_run_whose_commentary_cannot_be_written_gives_its_answer(
    agent: Agent, place: Callable[[], AbstractContextManager[int]], verbose: list[str]
) -> None:
    agent.script('{call: [{tool: say, input: {message: "Moo"}}]}', "{say: It says Moo.}")
    with place() as stderr:
        done = subprocess.run(
            [command_path(), "run", "--script", "script.yaml", *verbose, "go"],
            cwd=agent.home,
            env=agent.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, b"It says Moo.\n")
    assert agent.application.count("say") == 1
