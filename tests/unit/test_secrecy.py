"""What is handed over is read once, and a shielded process shows its user nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fisk_ai import secrecy

NOBODY = 65534

SHIELDED = f"""
import ctypes, os, subprocess
from fisk_ai import secrecy

if os.geteuid() == 0:
    os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
    os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a change of the user shields by itself

def seen():
    program = f"cat /proc/{{os.getpid()}}/environ; ls /proc/{{os.getpid()}}/fd >&2"
    look = subprocess.run(["/bin/sh", "-c", program], env={{}}, capture_output=True)
    return b"SECRET=hidden" in look.stdout, b"denied" in look.stderr, look.returncode == 0

print(seen())
secrecy.shield()
print(seen())
print(len(os.listdir("/proc/self/fd")) > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="nothing to shield from elsewhere")
def test_a_shielded_process_shows_its_environment_and_descriptors_to_no_child() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHIELDED],
        env={**os.environ, "SECRET": "hidden"},
        capture_output=True,
        text=True,
        check=True,
        timeout=15,
    )
    assert done.stdout.splitlines() == ["(True, False, True)", "(False, True, False)", "True"]


def test_what_was_handed_over_is_read_by_its_descriptor_and_then_gone() -> None:
    with secrecy.hand_over(b"the secret") as handed:
        other = os.dup(handed.fileno())
        assert secrecy.take(other) == b"the secret"
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(other)
        assert os.fstat(handed.fileno()).st_size == 0


def test_a_file_that_was_handed_over_has_no_name() -> None:
    with secrecy.hand_over(b"the secret") as handed:
        assert os.fstat(handed.fileno()).st_nlink == 0


@pytest.mark.skipif(sys.platform != "linux", reason="files cannot be sealed elsewhere")
def test_what_was_forgotten_can_be_written_by_nobody() -> None:
    with secrecy.hand_over(b"the secret") as handed:
        secrecy.forget(handed)
        with pytest.raises(PermissionError):
            os.write(handed.fileno(), b"listen to me")


def test_a_descriptor_that_nothing_is_behind_is_refused() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        secrecy.take(10_000)
