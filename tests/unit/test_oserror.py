"""What the operating system refuses is told in words, and is nobody's bug."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fisk_ai import oserror

_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/file")
_TOO_MANY = OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/tmp/file")


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (_FULL, "/tmp/file: No space left on device"),
        (_TOO_MANY, "Too many open files; raise the limit of this process (ulimit -n)"),
        (OSError("the words of a library"), "the words of a library"),
        (MemoryError(), "out of memory"),
    ],
)
def test_a_refusal_of_the_system_has_a_reason_and_what_helps(
    refusal: OSError | MemoryError, words: str
) -> None:
    assert oserror.in_words(refusal) == words


@pytest.mark.parametrize(
    ("refusal", "words"),
    [("OSError(24, 'Too many open files')", "Too many open files"), ("MemoryError()", "out of m")],
)
def test_a_worker_that_the_system_refuses_something_at_its_start_says_what_and_calls_it_no_bug(
    tmp_path: Path, refusal: str, words: str
) -> None:
    program = (
        "import sys\n"
        "from agent_worker.__main__ import main\n"
        "def bring():\n"
        f"    raise {refusal}\n"
        "sys.exit(main(['--config', 'agent.yaml'], bring))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"agent_worker: error: the agent worker could not start: {words}")
    assert len(done.stderr.splitlines()) == 1
